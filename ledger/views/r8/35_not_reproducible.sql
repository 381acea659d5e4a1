-- Promises: the last score of every cell that rests on something withheld, so that nobody can derive it again. It stays,
-- and stays counted.

CREATE VIEW not_reproducible AS
SELECT
  scores.run AS run,
  scores.cell AS cell,
  cell.candidate AS candidate,
  scores.rules AS rules,
  scores.seq AS seq
FROM resting_on_withheld AS resting
CROSS JOIN last_scores AS scores ON scores.seq = resting.seq
LEFT JOIN cell_candidates AS cell ON cell.seq = (
  SELECT min(seq) FROM events WHERE run = scores.run AND kind = 'cell' AND cell = scores.cell)
WHERE resting.kind = 'score';
