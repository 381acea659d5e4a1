-- Promises: one row for each run, candidate, rule set and metric: k of n measured of N planned. n and planned count only
-- the cells that the metric applies to. `unmeasured` says how many of the n are unmeasured cells that the rule set's policy
-- counts: 0 where it leaves them out. `low` and `high` are the 95% Wilson score interval of k/n (Wilson 1927, without
-- continuity correction); `worst` and `best` take all the unmeasured as 0, and as 1, whatever a policy says. `standing`
-- is what `rule_standing` says of the rule set on this run. With an n of 0 there is no rate: not 0. For a metric of kind `mean`, `rate` is the mean, `sd` its sample deviation, and there is no
-- Wilson interval. Plain SQLite; the square root is Newton's, since not every SQLite is built with sqrt(). Superseded runs
-- and tainted numbers stay, marked; `standing_scoreboard` leaves the superseded out. `reproducible` is 0 where
-- a score that is counted rests on something that a redaction withholds; withholding takes nothing from n or planned.
-- `rests_on_superseded` is 1 where a judge graded answers of a superseded run, and where a superseded judge's grades joined
-- the run: those rows stay here, marked, and `standing_scoreboard` leaves them out too.

CREATE VIEW scoreboard AS
WITH figures AS (
  -- One array a run, made by one subquery: so that a question about one run reads the scores of that run alone.
  SELECT plan.run AS run, figure.value ->> 0 AS rules, figure.value ->> 1 AS candidate, figure.value ->> 2 AS metric,
    figure.value ->> 3 AS n, figure.value ->> 4 AS total, figure.value ->> 5 AS squares,
    figure.value ->> 6 AS unmeasured, figure.value ->> 7 AS seen
  FROM events AS plan
  CROSS JOIN json_each((
    SELECT json_group_array(json_array(rules, candidate, metric, n, total, squares, unmeasured, seen))
    FROM (
      SELECT scores.rules AS rules, coalesce(cell.body ->> '$.candidate', (
          SELECT candidate FROM cell_candidates AS planned WHERE planned.seq = cell.seq)) AS candidate,
        each.key AS metric, count(*) AS n, sum(each.value) AS total, sum(each.value * each.value) AS squares,
        sum(scores.outcome = 'unmeasured') AS unmeasured,
        sum(CASE WHEN scores.outcome = 'unmeasured' THEN 0 ELSE each.value END) AS seen
      FROM scores
      CROSS JOIN json_each(scores.metrics) AS each
      CROSS JOIN events AS cell ON cell.run = scores.run AND cell.kind = 'cell' AND cell.cell = scores.cell
      WHERE scores.run = plan.run
      GROUP BY 1, 2, 3
    ))) AS figure
  WHERE plan.kind = 'plan'
),
counted AS (
  SELECT run_metrics.run, run_metrics.candidate, run_metrics.rules, run_metrics.metric, run_metrics.kind,
    run_metrics.planned, run_metrics.is_primary, run_metrics.position, figures.n AS n, figures.total AS total,
    figures.squares AS squares, figures.unmeasured AS unmeasured, figures.seen AS seen, 1.0 * figures.total / figures.n AS p,
    1.959963984540054 AS z
  FROM figures
  CROSS JOIN run_metrics ON figures.run = run_metrics.run AND figures.rules = run_metrics.rules
    AND figures.candidate = run_metrics.candidate AND figures.metric = run_metrics.metric
  UNION ALL
  SELECT run_metrics.run, run_metrics.candidate, run_metrics.rules, run_metrics.metric, run_metrics.kind,
    run_metrics.planned, run_metrics.is_primary, run_metrics.position, 0, 0, NULL, 0, 0, NULL, 1.959963984540054
  FROM run_metrics
  WHERE NOT EXISTS (
    SELECT 1
    FROM scores, json_each(scores.metrics) AS figure
    CROSS JOIN events AS cell ON cell.run = scores.run AND cell.kind = 'cell' AND cell.cell = scores.cell
    WHERE scores.run = run_metrics.run AND scores.rules = run_metrics.rules
      AND figure.key = run_metrics.metric
      AND run_metrics.candidate = coalesce(cell.body ->> '$.candidate', (
        SELECT candidate FROM cell_candidates AS planned WHERE planned.seq = cell.seq)))
),
spread AS (
  SELECT counted.*,
    CASE kind
      WHEN 'rate' THEN p * (1 - p) / n + z * z / (4.0 * n * n)
      ELSE CASE WHEN n > 1 THEN max(0.0, (squares - n * p * p) / (n - 1)) END
    END AS variance
  FROM counted
),
rooted AS (
  SELECT spread.*,
    CASE
      WHEN variance IS NULL THEN NULL
      WHEN variance = 0 THEN 0.0
      ELSE (
        WITH RECURSIVE newton(step, root) AS (
          SELECT 0, max(1.0, spread.variance)
          UNION ALL
          SELECT step + 1, (root + spread.variance / root) / 2 FROM newton WHERE step < 64
        )
        SELECT root FROM newton WHERE step = 64)
    END AS root
  FROM spread
)
SELECT
  run,
  candidate,
  rules,
  metric,
  kind,
  is_primary,
  CASE kind WHEN 'rate' THEN CAST(total AS INTEGER) END AS k,
  n,
  planned,
  unmeasured,
  p AS rate,
  CASE WHEN kind = 'rate' AND n > 0 THEN
    CASE WHEN total = 0 THEN 0.0 ELSE (p + z * z / (2.0 * n) - z * root) / (1 + z * z / n) END
  END AS low,
  CASE WHEN kind = 'rate' AND n > 0 THEN
    CASE WHEN total = n THEN 1.0 ELSE (p + z * z / (2.0 * n) + z * root) / (1 + z * z / n) END
  END AS high,
  CASE kind WHEN 'mean' THEN root END AS sd,
  CASE WHEN planned > 0 THEN 1.0 * seen / planned END AS worst,
  CASE WHEN planned > 0 THEN 1.0 * (seen + planned - (n - unmeasured)) / planned END AS best,
  (SELECT standing FROM rule_standing WHERE rule_standing.run = rooted.run AND rule_standing.rules = rooted.rules)
    AS standing,
  run IN (SELECT id FROM supersessions WHERE in_force AND what = 'run') AS superseded,
  EXISTS (
    SELECT 1 FROM tainted_numbers AS unsafe
    WHERE unsafe.run = rooted.run
      AND (unsafe.candidate IS NULL OR unsafe.candidate = rooted.candidate)
      AND (unsafe.rules IS NULL OR unsafe.rules = rooted.rules)) AS tainted,
  (run, candidate, rules) NOT IN (
    SELECT run, candidate, rules FROM not_reproducible WHERE candidate IS NOT NULL) AS reproducible,
  EXISTS (
    SELECT 1 FROM resting_on_superseded AS gone
    WHERE gone.run = rooted.run AND (gone.rules IS NULL OR gone.rules = rooted.rules)) AS rests_on_superseded
FROM rooted
ORDER BY run, rules, position, candidate;
