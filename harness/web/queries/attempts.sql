-- Promises: every request of one run, with its cell's candidate and what came of it, as the view `attempts` has it.
SELECT
  (SELECT candidate FROM cell_candidates AS planned WHERE planned.run = attempts.run AND planned.cell = attempts.cell),
  attempt,
  total_ms,
  stage,
  reason
FROM attempts
WHERE run = ?
