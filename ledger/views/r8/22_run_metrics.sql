-- Promises: for each run, candidate and rule set, the metrics, each once, with how many cells each applies to as planned.
-- It comes from the plan, and for rule sets of later passes from their last tally, so a run that died still has its
-- denominators. `named` says how often the plan (or the tally) has a candidate of this label, or this metric under this
-- rule set: where it is more than 1, nobody can tell whose the figures are, and `planned` is the largest that is named.

CREATE VIEW run_metrics AS
SELECT
  plan.run AS run,
  each.value ->> 0 AS candidate,
  each.value ->> 1 AS rules,
  each.value ->> 2 AS metric,
  each.value ->> 3 AS kind,
  each.value ->> 4 AS planned,
  each.value ->> 5 AS is_primary,
  each.value ->> 6 AS position,
  each.value ->> 7 AS named
FROM events AS plan
CROSS JOIN json_each((
  SELECT json_group_array(json_array(candidate, rules, metric, kind, planned, is_primary, position, named))
  FROM (
    SELECT candidate.label AS candidate, metric.rules AS rules, metric.metric AS metric, metric.kind AS kind,
      metric.planned AS planned, metric.is_primary AS is_primary, metric.position AS position,
      max(candidate.named, metric.named) AS named
    FROM (
      SELECT value ->> '$.label' AS label, count(*) AS named
      FROM json_each(plan.body, '$.candidates') GROUP BY 1 ORDER BY min(key)
    ) AS candidate
    CROSS JOIN (
      SELECT rules.value ->> '$.label' AS rules, metric.value ->> '$.name' AS metric, metric.value ->> '$.kind' AS kind,
        max(metric.value ->> '$.planned') AS planned, metric.value ->> '$.primary' AS is_primary, metric.key AS position,
        count(*) AS named
      FROM json_each(plan.body, '$.rules') AS rules, json_each(rules.value, '$.metrics') AS metric
      GROUP BY 1, 2
      ORDER BY rules.key, metric.key
    ) AS metric
    UNION ALL
    SELECT metric.value ->> '$.candidate', tally.body ->> '$.rules', metric.value ->> '$.metric',
      metric.value ->> '$.kind', max(metric.value ->> '$.planned'), metric.value ->> '$.primary', metric.key, count(*)
    FROM events AS tally, json_each(tally.body, '$.metrics') AS metric
    WHERE tally.run = plan.run AND tally.kind = 'tally'
      AND NOT EXISTS (
        SELECT 1 FROM json_each(plan.body, '$.rules') WHERE value ->> '$.label' = tally.body ->> '$.rules')
      AND NOT EXISTS (
        SELECT 1 FROM events AS later
        WHERE later.kind = 'tally' AND later.run = tally.run AND later.seq > tally.seq
          AND later.body ->> '$.rules' = tally.body ->> '$.rules')
    GROUP BY tally.seq, 1, 3
  ))) AS each
WHERE plan.kind = 'plan';
