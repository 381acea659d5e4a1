-- Promises: what one run stands on (fixtures, prompts, rule sets), each with the event that fixed it and whether that came
-- before the run's first response: what came after can have been chosen with the answers in sight. `standing` and `because`
-- are what the rule set's figures are marked with. :run is a run's id; empty for the newest.

SELECT DISTINCT frozen.what, frozen.label, frozen.seq AS freeze, frozen.at, seen.first_response AS first_response,
  CASE WHEN seen.first_response IS NULL OR frozen.seq < seen.first_response THEN 'before' ELSE 'after' END AS frozen,
  own.standing, own.because
FROM (SELECT run, max(first_response) AS first_response FROM rule_standing
  WHERE run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1)) GROUP BY run) AS seen
JOIN (
  SELECT plan.run, each.value ->> '$.freeze' AS freeze
  FROM events AS plan, json_each(plan.body, '$.fixtures') AS each WHERE plan.kind = 'plan'
  UNION
  SELECT plan.run, each.value ->> '$.prompt_freeze'
  FROM events AS plan, json_each(plan.body, '$.candidates') AS each WHERE plan.kind = 'plan'
  UNION
  SELECT run, freeze FROM run_rules WHERE freeze IS NOT NULL
) AS used ON used.run = seen.run
JOIN freezes AS frozen ON frozen.seq = used.freeze
LEFT JOIN rule_standing AS own ON own.run = seen.run AND own.freeze = frozen.seq
ORDER BY frozen.seq
