-- Promises: one row for each run, candidate, rule set and metric: k of n measured of N planned. n and planned count only
-- the cells that the metric applies to, each once, and none that is outside the plan (`planned_cells`). `unmeasured` says
-- how many of the n are unmeasured cells that the rule set's policy counts: 0 where it leaves them out. `low` and `high` are
-- the 95% Wilson score interval of k/n (Wilson 1927, without continuity correction), which takes answers as independent: the
-- one that a report leads with is in `intervals`, by its name; `worst` and `best` take all the
-- unmeasured as 0, and as 1, whatever a policy says. `standing` is what `rule_standing` says of the rule set on this run.
-- With an n of 0 there is no rate: not 0. For a metric of kind `mean`, `rate` is the mean, `sd` its sample deviation, and
-- there is no Wilson interval. Plain SQLite; the square root is Newton's, since not every SQLite is built with sqrt().
-- Superseded runs and tainted numbers stay, marked; `standing_scoreboard` leaves the superseded out. `reproducible` is 0
-- where a score that is counted rests on something that a redaction withholds; withholding takes nothing from n or planned.
-- `rests_on_superseded` is 1 where a judge graded answers of a superseded run, and where a superseded judge's grades joined
-- the run: those rows stay here, marked, and `standing_scoreboard` leaves them out too. `held` is 0 where the run's own
-- events contradict a figure, and `held_why` says how, empty otherwise: cells that aren't counted, a candidate or a metric
-- that is named twice, or more cells that the metric applies to than were planned for it: then `planned` is their number, so
-- that neither k nor n is ever above it. A figure of which a value isn't between 0 and 1 is withheld: its n is 0.
-- `asked_again` cells of the candidate's `asked_again_of` that count were asked again although they had an answer, and
-- `mixed` is 1 where more than one server answered it; `marks` says both in words, and the same of the judge whose grades
-- these are and of the answers that a judge graded (`answer_marks`): empty where there is nothing to say.

CREATE VIEW scoreboard AS
WITH counted AS (
  SELECT plan.run AS run, figure.value ->> 0 AS candidate, figure.value ->> 1 AS rules, figure.value ->> 2 AS metric,
    figure.value ->> 3 AS kind, figure.value ->> 4 AS planned, figure.value ->> 5 AS is_primary,
    figure.value ->> 6 AS position, figure.value ->> 7 AS n, figure.value ->> 8 AS total, figure.value ->> 9 AS squares,
    figure.value ->> 10 AS unmeasured, figure.value ->> 11 AS seen, figure.value ->> 12 AS held_why,
    (SELECT value FROM json_each(told.value) WHERE value ->> 0 = figure.value ->> 0) AS marked,
    1.0 * (figure.value ->> 8) / (figure.value ->> 7) AS p, 1.959963984540054 AS z
  FROM events AS plan
  -- Arrays, each made once a run by one subquery: so that a question about one run reads the cells and scores of that run
  -- alone. First what its cells come to, then which of them don't count, and then the figures of both.
  CROSS JOIN json_each(json_array((
    SELECT json_group_array(json_array(candidate, rules, metric, n, total, squares, unmeasured, seen, applied, odd))
    FROM (
      SELECT counted.candidate AS candidate, scores.rules AS rules,
        CASE each.path WHEN '$[0]' THEN each.value ELSE each.key END AS metric,
        sum(each.path = '$[1]') AS n,
        sum(CASE each.path WHEN '$[1]' THEN each.value END) AS total,
        sum(CASE each.path WHEN '$[1]' THEN each.value * each.value END) AS squares,
        sum(each.path = '$[1]' AND scores.outcome = 'unmeasured') AS unmeasured,
        sum(CASE each.path WHEN '$[1]' THEN CASE scores.outcome WHEN 'unmeasured' THEN 0 ELSE each.value END END) AS seen,
        sum(each.path = '$[0]') AS applied,
        sum(each.path = '$[1]' AND each.value NOT BETWEEN 0 AND 1) AS odd
      FROM planned_cells AS counted
      CROSS JOIN last_scores AS scores ON scores.run = counted.run AND scores.cell = counted.cell
      CROSS JOIN json_tree('[' || scores.applies || ',' || scores.metrics || ']') AS each
      WHERE counted.run = plan.run AND counted.counts AND each.path IN ('$[0]', '$[1]')
      GROUP BY 1, 2, 3
    )))) AS tallied
  CROSS JOIN json_each(json_array((
    SELECT json_group_array(json_array(candidate, why, cells))
    FROM (
      SELECT candidate, why, count(*) AS cells FROM planned_cells
      WHERE run = plan.run AND NOT counts GROUP BY 1, 2 ORDER BY 1, 2
    )))) AS uncounted
  CROSS JOIN json_each(json_array((
    SELECT json_group_array(json_array(candidate, cells, asked_again, mixed, mixed_why))
    FROM answer_marks WHERE run = plan.run))) AS told
  CROSS JOIN json_each((
    SELECT json_group_array(json_array(candidate, rules, metric, kind, max(planned, applied), is_primary, position,
      CASE WHEN odd THEN 0 ELSE n END, CASE WHEN odd THEN 0 ELSE total END, CASE WHEN NOT odd THEN squares END,
      CASE WHEN odd THEN 0 ELSE unmeasured END, CASE WHEN odd THEN 0 ELSE seen END,
      -- Each with a semicolon and a blank before it, of which the first are cut off.
      substr(
        CASE WHEN named > 1 THEN '; ' || named || ' candidates or metrics are called so' ELSE '' END
          || CASE WHEN left_out IS NOT NULL THEN '; not counted: ' || left_out ELSE '' END
          || CASE WHEN applied > planned THEN '; planned for ' || planned || ' cells, and ' || applied || ' have it'
            ELSE '' END
          || CASE WHEN odd THEN '; withheld, as a value of it isn''t between 0 and 1' ELSE '' END,
        3)))
    FROM (
      SELECT asked.*, coalesce(n, 0) AS n, coalesce(total, 0) AS total, squares, coalesce(unmeasured, 0) AS unmeasured,
        coalesce(seen, 0) AS seen, max(coalesce(n, 0), coalesce(applied, 0)) AS applied, coalesce(odd, 0) > 0 AS odd, (
          SELECT group_concat(
            (value ->> 2) || CASE value ->> 2 WHEN 1 THEN ' cell ' ELSE ' cells ' END || (value ->> 1), ', ')
          FROM json_each(uncounted.value)
          WHERE value ->> 0 = asked.candidate OR value ->> 1 = 'of no candidate of the plan') AS left_out
      FROM run_metrics AS asked
      LEFT JOIN (
        SELECT value ->> 0 AS candidate, value ->> 1 AS rules, value ->> 2 AS metric, value ->> 3 AS n,
          value ->> 4 AS total, value ->> 5 AS squares, value ->> 6 AS unmeasured, value ->> 7 AS seen,
          value ->> 8 AS applied, value ->> 9 AS odd
        FROM json_each(tallied.value)
      ) AS figure ON figure.candidate = asked.candidate AND figure.rules = asked.rules AND figure.metric = asked.metric
      WHERE asked.run = plan.run
    )
  )) AS figure
  WHERE plan.kind = 'plan'
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
    WHERE gone.run = rooted.run AND (gone.rules IS NULL OR gone.rules = rooted.rules)) AS rests_on_superseded,
  held_why = '' AS held,
  held_why,
  coalesce(marked ->> 2, 0) AS asked_again,
  coalesce(marked ->> 1, 0) AS asked_again_of,
  coalesce(marked ->> 3, 0) AS mixed,
  -- Each with a semicolon and a blank before it, of which the first are cut off.
  substr(
    CASE WHEN marked ->> 2 > 0 THEN '; ' || (marked ->> 2) || ' of ' || (marked ->> 1) || ' were asked again' ELSE '' END
      || CASE WHEN marked ->> 3 THEN '; ' || (marked ->> 4) ELSE '' END
      || coalesce((
        SELECT group_concat('; ' || whose || CASE WHEN asked_again > 0
            THEN asked_again || ' of ' || cells || ' were asked again' || CASE WHEN mixed THEN ', ' ELSE '' END
            ELSE '' END || mixed_why, '')
        FROM (
          SELECT judge_run AS other, 'of its judge''s grades ' AS whose FROM joins
          WHERE joins.run = rooted.run AND joins.rules = rooted.rules
          UNION ALL
          SELECT graded.value, 'of the answers that it graded ' FROM events AS plan
          CROSS JOIN json_each(plan.body, '$.grades') AS graded
          WHERE plan.run = rooted.run AND plan.kind = 'plan'
        )
        CROSS JOIN answer_marks ON answer_marks.run = other
        WHERE asked_again > 0 OR mixed
      ), ''),
    3) AS marks
FROM rooted
ORDER BY run, rules, position, candidate;
