-- Promises: one row for each cell event of a run that has a plan, and whether it counts. `counts` is 0, and `why` says it
-- in words, for a cell that is outside the plan (its number is above the plan's count of cells, or its candidate is none
-- of the plan's), and for each after the first that is there twice: of one number, of one case (fixture, case, candidate
-- and epoch), or of one candidate and identity. No other view counts such a cell; the figures that it would have been
-- part of say so (`held_why` of `scoreboard`). A cell whose body is withheld can't be told to be of a case that is there.

CREATE VIEW planned_cells AS
SELECT
  plan.run AS run,
  each.value ->> 0 AS cell,
  each.value ->> 1 AS candidate,
  each.value ->> 2 AS seq,
  each.value ->> 3 IS NULL AS counts,
  each.value ->> 3 AS why
FROM events AS plan
-- One array a run, made by one subquery: so that a question about one run reads the cells of that run alone.
CROSS JOIN json_each(CASE
  -- One look at them all finds most runs sound: then nothing needs to be sorted.
  WHEN (
    SELECT count(*) = count(DISTINCT cell.cell) AND max(cell.cell) <= plan.body ->> '$.cells'
      AND count(cell.body) = count(DISTINCT CASE WHEN cell.body IS NOT NULL THEN json_array(cell.body ->> '$.candidate',
        cell.body ->> '$.fixture', cell.body ->> '$.case', cell.body ->> '$.epoch') END)
      AND count(cell.body) = count(DISTINCT CASE WHEN cell.body IS NOT NULL THEN json_array(cell.body ->> '$.candidate',
        cell.body ->> '$.identity') END)
    FROM events AS cell
    WHERE cell.run = plan.run AND cell.kind = 'cell'
  ) AND NOT EXISTS (
    SELECT cell.body ->> '$.candidate' FROM events AS cell
    WHERE cell.run = plan.run AND cell.kind = 'cell' AND cell.body IS NOT NULL
    EXCEPT
    SELECT value ->> '$.label' FROM json_each(plan.body, '$.candidates')
  )
  THEN (
    SELECT json_group_array(json_array(cell.cell, coalesce(cell.body ->> '$.candidate', (
      SELECT candidate FROM cell_candidates AS placed WHERE placed.seq = cell.seq)), cell.seq))
    FROM events AS cell
    WHERE cell.run = plan.run AND cell.kind = 'cell'
  )
  ELSE (
    SELECT json_group_array(json_array(cell, candidate, seq, CASE
      WHEN stranger THEN 'of no candidate of the plan'
      WHEN outside THEN 'outside the plan'
      WHEN seq > of_number THEN 'written down twice'
      WHEN seq > of_case THEN 'a case twice'
      WHEN seq > of_identity THEN 'an identity twice'
    END))
    FROM (
      SELECT
        seq, cell, candidate, outside, stranger,
        min(seq) OVER (PARTITION BY outside OR stranger, cell) AS of_number,
        min(seq) OVER (PARTITION BY outside OR stranger, candidate, body ->> '$.fixture', body ->> '$.case',
          body ->> '$.epoch', CASE WHEN body IS NULL THEN seq END) AS of_case,
        min(seq) OVER (PARTITION BY outside OR stranger, candidate, body ->> '$.identity',
          CASE WHEN body IS NULL THEN seq END) AS of_identity
      FROM (
        SELECT named.seq AS seq, named.cell AS cell, named.body AS body, named.candidate AS candidate,
          named.cell > named.planned AS outside, known.label IS NULL AS stranger
        FROM (
          SELECT cell.seq AS seq, cell.cell AS cell, cell.body AS body, plan.body ->> '$.cells' AS planned,
            coalesce(cell.body ->> '$.candidate', (
              SELECT candidate FROM cell_candidates AS placed WHERE placed.seq = cell.seq)) AS candidate
          FROM events AS cell
          WHERE cell.run = plan.run AND cell.kind = 'cell'
        ) AS named
        LEFT JOIN (
          SELECT DISTINCT value ->> '$.label' AS label FROM json_each(plan.body, '$.candidates')
        ) AS known ON known.label = named.candidate
      )
      ORDER BY cell, seq
    )
  )
END) AS each
WHERE plan.kind = 'plan';
