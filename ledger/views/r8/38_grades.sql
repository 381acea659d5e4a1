-- Promises: one row for each cell of a judge's run under each of its rule sets, and for each answer that it judges (a grade
-- has one, a choice between two has two): which cell of which run that is, and what the judge's reply came to. Every cell has
-- exactly one outcome, as in `cells`; a cell without a measurement has no value and no verdict, and says why. `judge` is the
-- judge's label in its own run. `blocked_by` and `classes` are JSON; `seq` is the score, NULL while there is none. The graded
-- cell follows from the causes of the judge's, so a redaction of either doesn't lose it.

CREATE VIEW grades AS
SELECT
  plan.run AS run,
  cells.cell AS cell,
  cells.rules AS rules,
  cells.candidate AS judge,
  cells.arm AS arm,
  cells.epoch AS epoch,
  answer.run AS graded_run,
  answer.cell AS graded_cell,
  cells.outcome AS outcome,
  cells.status AS status,
  cells.reason AS reason,
  cells.value AS value,
  cells.verdict AS verdict,
  coalesce(score.body -> '$.blocked_by', '[]') AS blocked_by,
  coalesce(score.body -> '$.classes', '{}') AS classes,
  cells.score AS seq
FROM events AS plan
CROSS JOIN cells ON cells.run = plan.run
CROSS JOIN events AS planned ON planned.seq = cells.seq
CROSS JOIN json_each(planned.causes) AS cause
CROSS JOIN events AS answer ON answer.seq = cause.value AND answer.cell > 0
LEFT JOIN events AS score ON score.seq = cells.score
WHERE plan.kind = 'plan' AND json_array_length(plan.body, '$.grades') > 0;
