-- Promises: the cases of one run that were measured and never once right, under each rule set and over all candidates and
-- repeats. A case of which nothing could be measured isn't wrong, and isn't here. :run is a run's id; empty for the newest.

SELECT run, rules, fixture, "case", count(*) AS cells, sum(outcome <> 'unmeasured') AS measured,
  sum(outcome = 'unmeasured') AS unmeasured, max(value) AS best_value, group_concat(DISTINCT candidate) AS candidates
FROM cells
WHERE run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
GROUP BY run, rules, fixture, "case"
HAVING sum(outcome <> 'unmeasured') > 0 AND sum(outcome = 'correct') = 0 AND coalesce(max(value), 0) < 1
ORDER BY rules, fixture, "case"
