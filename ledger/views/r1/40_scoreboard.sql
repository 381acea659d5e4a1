-- Promises: one row for each run, candidate, rule set and metric: k of n measured of N planned. n and planned count only
-- the cells that the metric applies to. `low` and `high` are the 95% Wilson score interval of k/n (Wilson 1927, without
-- continuity correction); `worst` and `best` take all the unmeasured as wrong, and as right. Without one measured cell
-- there is no rate: not 0. For a metric of kind `mean`, `rate` is the mean, `sd` its sample deviation, and there is no
-- Wilson interval. Plain SQLite; the square root is Newton's, since not every SQLite is built with sqrt().

CREATE VIEW scoreboard AS
WITH figures AS (
  SELECT scores.run AS run, scores.rules AS rules, cell.body ->> '$.candidate' AS candidate, figure.key AS metric,
    count(*) AS n, sum(figure.value) AS total, sum(figure.value * figure.value) AS squares
  FROM scores, json_each(scores.metrics) AS figure
  JOIN events AS cell ON cell.run = scores.run AND cell.kind = 'cell' AND cell.cell = scores.cell
  WHERE scores.outcome <> 'unmeasured'
  GROUP BY 1, 2, 3, 4
),
counted AS (
  SELECT run_metrics.*, coalesce(figures.n, 0) AS n, coalesce(figures.total, 0) AS total, figures.squares AS squares,
    1.0 * figures.total / figures.n AS p, 1.959963984540054 AS z
  FROM run_metrics
  LEFT JOIN figures ON figures.run = run_metrics.run AND figures.rules = run_metrics.rules
    AND figures.candidate = run_metrics.candidate AND figures.metric = run_metrics.metric
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
  p AS rate,
  CASE WHEN kind = 'rate' AND n > 0 THEN
    CASE WHEN total = 0 THEN 0.0 ELSE (p + z * z / (2.0 * n) - z * root) / (1 + z * z / n) END
  END AS low,
  CASE WHEN kind = 'rate' AND n > 0 THEN
    CASE WHEN total = n THEN 1.0 ELSE (p + z * z / (2.0 * n) + z * root) / (1 + z * z / n) END
  END AS high,
  CASE kind WHEN 'mean' THEN root END AS sd,
  CASE WHEN planned > 0 THEN 1.0 * total / planned END AS worst,
  CASE WHEN planned > 0 THEN 1.0 * (total + planned - n) / planned END AS best
FROM rooted
ORDER BY run, rules, position, candidate;
