-- Promises: every unmeasured cell of one run counted once under each rule set, by whose fault it is, where it stopped and
-- why, most frequent first. :run is a run's id; empty for the newest.

SELECT run, rules, candidate, domain, stage, reason, count(*) AS count
FROM cells
WHERE run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
  AND outcome = 'unmeasured'
GROUP BY run, rules, candidate, domain, stage, reason
ORDER BY count DESC, rules, candidate, stage, reason
