-- Promises: every cell of one run under each of its rule sets, in order, as the view `cells` has it; and the metrics that
-- apply to it and what blocks it, as its score says: NULL where it has none.
SELECT
  cells.cell,
  cells.rules,
  cells."case",
  cells.fixture,
  cells.candidate,
  cells.arm,
  cells.epoch,
  cells.outcome,
  cells.status,
  cells.stage,
  cells.reason,
  cells.domain,
  cells.verdict,
  cells.value,
  cells.metrics,
  scored.body ->> '$.applies' AS applies,
  scored.body ->> '$.blocked_by' AS blocked_by
FROM cells
LEFT JOIN main.events AS scored ON scored.seq = cells.score
WHERE cells.run = ?
ORDER BY cells.cell, cells.rules
