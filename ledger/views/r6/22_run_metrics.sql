-- Promises: for each run, candidate and rule set, the metrics, with how many cells each applies to as planned. It comes
-- from the plan, and for rule sets of later passes from their last tally, so a run that died still has its denominators.

CREATE VIEW run_metrics AS
SELECT
  plan.run AS run,
  candidate.value ->> '$.label' AS candidate,
  rules.value ->> '$.label' AS rules,
  metric.value ->> '$.name' AS metric,
  metric.value ->> '$.kind' AS kind,
  metric.value ->> '$.planned' AS planned,
  metric.value ->> '$.primary' AS is_primary,
  metric.key AS position
FROM events AS plan, json_each(plan.body, '$.candidates') AS candidate, json_each(plan.body, '$.rules') AS rules,
  json_each(rules.value, '$.metrics') AS metric
WHERE plan.kind = 'plan'
UNION ALL
SELECT
  tally.run,
  metric.value ->> '$.candidate',
  tally.body ->> '$.rules',
  metric.value ->> '$.metric',
  metric.value ->> '$.kind',
  metric.value ->> '$.planned',
  metric.value ->> '$.primary',
  metric.key
FROM events AS tally, json_each(tally.body, '$.metrics') AS metric
WHERE tally.kind = 'tally'
  AND NOT EXISTS (
    SELECT 1 FROM events AS plan, json_each(plan.body, '$.rules') AS rules
    WHERE plan.kind = 'plan' AND plan.run = tally.run AND rules.value ->> '$.label' = tally.body ->> '$.rules')
  AND NOT EXISTS (
    SELECT 1 FROM events AS later
    WHERE later.kind = 'tally' AND later.run = tally.run AND later.seq > tally.seq
      AND later.body ->> '$.rules' = tally.body ->> '$.rules');
