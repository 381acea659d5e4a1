-- Promises: every planned cell once under each rule set of its run, as in `cells`, with what it cost and took, and with the
-- seqs of the events that its texts come from: `planned` (its case), `frozen` (the file of cases: gold and meta), `asked`
-- (the request), `replied` (the response, reuse or import that was read), `parse` (the answer as it was read), `score`; each
-- is NULL where there is none. No text stands here: SQLite can unpack no blob and decode no stream. `frame("answers")` adds
-- them. Tokens are those of all the cell's requests, retries too. They and `cost` are NULL, never 0, where of any request
-- they aren't known; nothing was asked where `requests` is 0. `latency_ms` is how long the reply took that was read.

CREATE VIEW answers AS
SELECT
  cells.run AS run,
  cells.rules AS rules,
  cells.cell AS cell,
  cells."case" AS "case",
  cells.fixture AS fixture,
  cells.candidate AS candidate,
  cells.arm AS arm,
  cells.epoch AS epoch,
  cells.outcome AS outcome,
  cells.status AS status,
  cells.stage AS stage,
  cells.reason AS reason,
  cells.verdict AS verdict,
  cells.value AS value,
  spent.value ->> 0 AS requests,
  spent.value ->> 1 AS input_tokens,
  spent.value ->> 2 AS output_tokens,
  spent.value ->> 3 AS cost,
  spent.value ->> 4 AS currency,
  replied.body ->> '$.total_ms' AS latency_ms,
  cells.seq AS planned,
  (SELECT value ->> '$.freeze' FROM json_each(plan.body, '$.fixtures')
    WHERE value ->> '$.name' = cells.fixture) AS frozen,
  asked.seq AS asked,
  replied.seq AS replied,
  parse.seq AS parse,
  cells.score AS score
FROM events AS plan
CROSS JOIN cells ON cells.run = plan.run
LEFT JOIN events AS score ON score.seq = cells.score
LEFT JOIN events AS confirm ON confirm.seq = (
  SELECT max(cause.seq) FROM json_each(score.causes) AS named CROSS JOIN events AS cause ON cause.seq = named.value
  WHERE cause.kind = 'confirm' AND cause.run = score.run)
LEFT JOIN events AS parse ON parse.seq = (
  SELECT max(cause.seq) FROM json_each(coalesce(confirm.causes, score.causes)) AS named
  CROSS JOIN events AS cause ON cause.seq = named.value
  WHERE cause.kind = 'parse' AND cause.run = score.run)
LEFT JOIN events AS newest ON newest.seq = (
  SELECT max(seq) FROM events WHERE run = cells.run AND kind = 'request' AND cell = cells.cell)
LEFT JOIN events AS replied ON replied.seq = coalesce(
  (SELECT max(cause.seq) FROM json_each(parse.causes) AS named CROSS JOIN events AS cause ON cause.seq = named.value
    WHERE cause.kind IN ('response', 'import', 'reuse')),
  (SELECT max(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
    WHERE edges.cause = newest.seq AND effect.kind = 'response'),
  -- A cell that was asked has no reply but its own.
  (SELECT max(seq) FROM events
    WHERE run = cells.run AND kind IN ('import', 'reuse') AND cell = cells.cell AND newest.seq IS NULL))
LEFT JOIN events AS asked ON asked.seq = coalesce(
  (SELECT max(cause.seq) FROM json_each(replied.causes) AS named CROSS JOIN events AS cause ON cause.seq = named.value
    WHERE cause.kind = 'request'),
  newest.seq)
-- One row a cell, so that the requests are read once and not once a column.
CROSS JOIN json_each(json_array((
  SELECT json_array(
    count(*),
    CASE WHEN count(*) > 0 AND sum(counted = 'unknown') = 0
      THEN coalesce(sum(input_tokens + cached_tokens + cache_write_tokens), 0) END,
    CASE WHEN count(*) > 0 AND sum(counted = 'unknown') = 0 THEN coalesce(sum(output_tokens), 0) END,
    CASE WHEN count(*) > 0 AND plan.body ->> '$.via' = 'live' AND sum(counted = 'unknown') = 0
        AND coalesce(max(apart), 0) = 0 AND max(price.value ->> '$.currency') <> ''
        AND max(price.value ->> '$.input') GLOB '[0-9]*' AND max(price.value ->> '$.output') GLOB '[0-9]*'
        AND NOT coalesce(max(cached_tokens > 0 AND price.value ->> '$.cached' IS NULL
          OR cache_write_tokens > 0 AND price.value ->> '$.cache_write' IS NULL), 0)
      THEN coalesce(sum(input_tokens * CAST(price.value ->> '$.input' AS REAL)
        + cached_tokens * coalesce(CAST(price.value ->> '$.cached' AS REAL), 0)
        + cache_write_tokens * coalesce(CAST(price.value ->> '$.cache_write' AS REAL), 0)
        + output_tokens * CAST(price.value ->> '$.output' AS REAL)), 0) / 1e6 END,
    max(price.value ->> '$.currency'))
  FROM usage
  LEFT JOIN json_each(json_array((
    SELECT value -> '$.price' FROM json_each(plan.body, '$.candidates')
    WHERE value ->> '$.label' = cells.candidate))) AS price
  WHERE usage.run = cells.run AND usage.cell = cells.cell
))) AS spent
WHERE plan.kind = 'plan';
