-- Promises: for each run, candidate, rule set and metric that has a figure, the 95% interval that a report leads with, by its
-- name. `interval_by` is `cells` (Wilson's of k of n, where each case was asked once), `cases, wilson` (Wilson's with the
-- cases as n, where answers to one case stand together: repeats, cases of one input, or a mean; with fewer than ten cases, or
-- where all agree), or `cases`: whole cases drawn a thousand times, which no SQL does, so that its ends are NULL here;
-- `harness report --json` has them, and `low` and `high` of `scoreboard`, which take answers as independent, aren't them.
-- `cases` is how many there are, `least` and `most` how often one was measured. `rate_by_case` lets each case count once,
-- and differs from `rate` of `scoreboard` where they were measured unequally often. A case is an input.

CREATE VIEW intervals AS
SELECT
  plan.run AS run,
  spread.value ->> 0 AS candidate,
  spread.value ->> 1 AS rules,
  spread.value ->> 2 AS metric,
  spread.value ->> 3 AS cases,
  spread.value ->> 4 AS least,
  spread.value ->> 5 AS most,
  spread.value ->> 6 AS rate_by_case,
  spread.value ->> 7 AS interval_low,
  spread.value ->> 8 AS interval_high,
  spread.value ->> 9 AS interval_by
FROM events AS plan
CROSS JOIN json_each((
  WITH placed AS (
    SELECT counted.cell AS cell, counted.candidate AS candidate,
      -- Of a cell whose body is withheld, any other of its place tells the input.
      coalesce(max(event.body ->> '$.input') OVER (PARTITION BY (counted.cell - 1) % max(1, (plan.body ->> '$.cells')
        / max(1, json_array_length(plan.body, '$.candidates') * (plan.body ->> '$.epochs')))),
        (counted.cell - 1) % max(1, (plan.body ->> '$.cells')
        / max(1, json_array_length(plan.body, '$.candidates') * (plan.body ->> '$.epochs')))) AS input
    FROM planned_cells AS counted
    CROSS JOIN events AS event ON event.seq = counted.seq
    WHERE counted.run = plan.run AND counted.counts
  ),
  clusters AS (
    SELECT placed.candidate AS candidate, scores.rules AS rules, figure.key AS metric, placed.input AS input,
      count(*) AS n, sum(figure.value) AS total, max(figure.value NOT BETWEEN 0 AND 1) AS odd
    FROM placed
    CROSS JOIN last_scores AS scores ON scores.run = plan.run AND scores.cell = placed.cell
    CROSS JOIN json_each(scores.metrics) AS figure
    GROUP BY 1, 2, 3, 4
  ),
  figures AS (
    SELECT clusters.candidate AS candidate, clusters.rules AS rules, clusters.metric AS metric, count(*) AS cases,
      min(n) AS least, max(n) AS most, sum(n) AS n, 1.0 * sum(total) / sum(n) AS p, avg(1.0 * total / n) AS by_case,
      CASE
        WHEN plan.body ->> '$.epochs' = 1 AND max(n) = 1 AND named.kind = 'rate' THEN 'cells'
        WHEN count(*) < 10 OR min(1.0 * total / n) = max(1.0 * total / n) THEN 'cases, wilson'
        ELSE 'cases'
      END AS way
    FROM clusters
    JOIN run_metrics AS named ON named.run = plan.run AND named.candidate = clusters.candidate
      AND named.rules = clusters.rules AND named.metric = clusters.metric
    GROUP BY 1, 2, 3
    HAVING NOT max(odd)
  ),
  scaled AS (
    SELECT figures.*, CASE way WHEN 'cells' THEN n ELSE cases END AS m, 1.959963984540054 AS z FROM figures
  ),
  rooted AS (
    SELECT scaled.*, (
      WITH RECURSIVE newton(step, root) AS (
        SELECT 0, 1.0
        UNION ALL
        SELECT step + 1, (root + (p * (1 - p) / m + z * z / (4.0 * m * m)) / root) / 2 FROM newton WHERE step < 64
      )
      SELECT root FROM newton WHERE step = 64) AS root
    FROM scaled
  )
  SELECT json_group_array(json_array(candidate, rules, metric, cases, least, most, by_case,
    CASE WHEN way <> 'cases' THEN CASE WHEN p = 0 THEN 0.0 ELSE (p + z * z / (2.0 * m) - z * root) / (1 + z * z / m) END END,
    CASE WHEN way <> 'cases' THEN CASE WHEN p = 1 THEN 1.0 ELSE (p + z * z / (2.0 * m) + z * root) / (1 + z * z / m) END END,
    way))
  FROM rooted
  )) AS spread
WHERE plan.kind = 'plan';
