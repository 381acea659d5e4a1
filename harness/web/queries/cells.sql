-- Promises: every cell of one run under each of its rule sets, in order, as the view `cells` has it; and the metrics that
-- apply to it, as its score says: NULL where it has none.
SELECT
  cell,
  rules,
  "case",
  fixture,
  candidate,
  arm,
  epoch,
  outcome,
  status,
  stage,
  reason,
  domain,
  verdict,
  value,
  metrics,
  (SELECT scored.body ->> '$.applies' FROM main.events AS scored WHERE scored.seq = cells.score) AS applies
FROM cells
WHERE run = ?
ORDER BY cell, rules
