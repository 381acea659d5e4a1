-- Promises: for each candidate of one run, how many requests were sent, what is known of their tokens, and their sum.
-- Requests whose tokens are unknown may have been paid for: they are counted apart, never as 0. Prices aren't in a ledger's
-- views: `harness report` has the cost. :run is a run's id; empty for the newest.

SELECT run, candidate, count(*) AS requests, sum(counted = 'counted') AS counted, sum(counted = 'refused') AS refused,
  sum(counted = 'unsent') AS unsent, sum(counted = 'unknown') AS unknown, sum(input_tokens) AS input_tokens,
  sum(cached_tokens) AS cached_tokens, sum(cache_write_tokens) AS cache_write_tokens,
  sum(output_tokens) AS output_tokens
FROM usage
WHERE run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
GROUP BY run, candidate
ORDER BY candidate
