-- Promises: one row for each cell whose question was put again although it had an answer: choosing what to repeat raises
-- scores. It follows from events alone. `how` is 'resumed': a request that came after a score of its cell which says neither
-- error nor that nothing was asked (`--retry-outcomes`); 'chosen': a request of a run that chose by outcome what to take over
-- (`--reuse-outcomes`), though an earlier run that wasn't superseded then had an answer to the same identity; or 'taken over':
-- the response that stands for it is of such a request, of whatever run. A cell that is asked again after a fault of transport,
-- provider or harness had no answer, and isn't among these.

CREATE VIEW asked_again AS
SELECT
  plan.run AS run,
  each.value ->> 0 AS cell,
  each.value ->> 1 AS candidate,
  each.value ->> 2 AS how
FROM events AS plan
-- One array a run, made by one subquery: so that a question about one run reads the requests of that run alone.
CROSS JOIN json_each((
  SELECT json_group_array(json_array(cell, candidate, how))
  FROM (
    SELECT counted.cell AS cell, counted.candidate AS candidate, CASE
      WHEN EXISTS (
        SELECT 1 FROM events AS request
        CROSS JOIN events AS score ON score.run = plan.run AND score.kind = 'score' AND score.cell = counted.cell
        WHERE request.run = plan.run AND request.kind = 'request' AND request.cell = counted.cell
          AND +score.seq < request.seq AND score.body ->> '$.status' NOT IN ('error', 'not_asked', 'fate_unknown')
      ) THEN 'resumed'
      WHEN CASE WHEN json_valid(plan.body ->> '$.given')
          THEN json_array_length(plan.body ->> '$.given', '$.reuse_outcomes') END > 0
        AND EXISTS (
          SELECT 1 FROM events AS request
          WHERE request.run = plan.run AND request.kind = 'request' AND request.cell = counted.cell)
        AND cell.body ->> '$.identity' IN (
          SELECT before.body ->> '$.identity'
          FROM events AS before
          WHERE before.kind = 'cell' AND before.run <> plan.run AND before.seq < plan.seq
            AND before.body IS NOT NULL
            AND EXISTS (
              SELECT 1 FROM events AS score
              WHERE score.run = before.run AND score.kind = 'score' AND score.cell = before.cell
                AND +score.seq < plan.seq
                AND score.body ->> '$.status' NOT IN ('error', 'not_asked', 'fate_unknown'))
            AND NOT EXISTS (
              SELECT 1 FROM events AS gone
              WHERE gone.kind = 'supersede' AND gone.seq < plan.seq AND gone.body ->> '$.target.what' = 'run'
                AND gone.body ->> '$.target.id' = before.run))
      THEN 'chosen'
      WHEN EXISTS (
        SELECT 1
        FROM events AS reuse
        CROSS JOIN json_each(reuse.causes) AS taken
        CROSS JOIN events AS response ON response.seq = taken.value AND response.kind = 'response'
        CROSS JOIN json_each(response.causes) AS came
        CROSS JOIN events AS request ON request.seq = came.value AND request.kind = 'request'
        WHERE reuse.run = plan.run AND reuse.kind = 'reuse' AND reuse.cell = counted.cell
          AND (
            EXISTS (
              SELECT 1 FROM events AS score
              WHERE score.run = request.run AND score.kind = 'score' AND score.cell = request.cell
                AND +score.seq < request.seq
                AND score.body ->> '$.status' NOT IN ('error', 'not_asked', 'fate_unknown'))
            OR EXISTS (
              SELECT 1
              FROM events AS chose
              CROSS JOIN events AS before ON before.kind = 'cell' AND before.run <> chose.run
                AND before.seq < chose.seq AND before.body ->> '$.identity' = cell.body ->> '$.identity'
              CROSS JOIN events AS score ON score.run = before.run AND score.kind = 'score'
                AND score.cell = before.cell AND +score.seq < chose.seq
                AND score.body ->> '$.status' NOT IN ('error', 'not_asked', 'fate_unknown')
              WHERE chose.run = request.run AND chose.kind = 'plan'
                AND CASE WHEN json_valid(chose.body ->> '$.given')
                  THEN json_array_length(chose.body ->> '$.given', '$.reuse_outcomes') END > 0
                AND NOT EXISTS (
                  SELECT 1 FROM events AS gone
                  WHERE gone.kind = 'supersede' AND gone.seq < chose.seq AND gone.body ->> '$.target.what' = 'run'
                    AND gone.body ->> '$.target.id' = before.run)))
      ) THEN 'taken over'
    END AS how
    FROM planned_cells AS counted
    CROSS JOIN events AS cell ON cell.seq = counted.seq
    WHERE counted.run = plan.run AND counted.counts
    ORDER BY counted.cell
  )
  WHERE how IS NOT NULL
)) AS each
WHERE plan.kind = 'plan';
