-- Promises: one row for each run and candidate with what must stand beside each of its figures for how its answers came
-- about. `asked_again` of its `cells` that count were asked again although they had an answer (`asked_again`). `mixed` is 1
-- where more than one model, build, provider or list of tools is told of its answers (`served`), and `mixed_why` says which,
-- empty otherwise: the first four names of each, and how many there are.

CREATE VIEW answer_marks AS
SELECT
  plan.run AS run,
  each.value ->> 0 AS candidate,
  each.value ->> 1 AS cells,
  each.value ->> 2 AS asked_again,
  each.value ->> 3 <> '' AS mixed,
  each.value ->> 3 AS mixed_why
FROM events AS plan
CROSS JOIN json_each((
  SELECT json_group_array(json_array(counted.candidate, cells, coalesce(again, 0), coalesce(why, '')))
  FROM (
    SELECT candidate, count(*) AS cells FROM planned_cells WHERE run = plan.run AND counts GROUP BY 1
  ) AS counted
  LEFT JOIN (
    SELECT candidate, count(*) AS again FROM asked_again WHERE run = plan.run GROUP BY 1
  ) AS repeated ON repeated.candidate = counted.candidate
  LEFT JOIN (
    SELECT candidate, group_concat(said, '; ') AS why
    FROM (
      SELECT candidate, CASE what
          WHEN 'model' THEN 'answered by ' || count(*) || ' models: '
          WHEN 'fingerprint' THEN 'answered by ' || count(*) || ' system fingerprints: '
          WHEN 'provider' THEN 'answered by ' || count(*) || ' providers: '
          ELSE 'asked with ' || count(*) || ' lists of tools: '
        END || group_concat(CASE WHEN place <= 4 THEN
          CASE what WHEN 'tools' THEN substr(name, 1, 12) ELSE name END || ' (' || cells || ')' END, ', ') AS said
      FROM (
        SELECT candidate, what, name, count(*) AS cells, row_number() OVER (
          PARTITION BY candidate, what ORDER BY count(*) DESC, name) AS place
        FROM served WHERE run = plan.run GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC, 3
      )
      GROUP BY candidate, what HAVING count(*) > 1
      ORDER BY candidate, instr('model fingerprint provider tools', what)
    )
    GROUP BY candidate
  ) AS told ON told.candidate = counted.candidate
)) AS each
WHERE plan.kind = 'plan';
