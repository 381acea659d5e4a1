-- Promises: which numbers a taint in force reaches: of which run, of which candidate and under which rule set. A NULL
-- candidate or rule set stands for every one of the run. Only the last score of a cell under a rule set counts.

CREATE VIEW tainted_numbers AS
SELECT DISTINCT
  found.taint AS taint,
  found.run AS run,
  cell.candidate AS candidate,
  score.body ->> '$.rules' AS rules
FROM tainted_events AS found
LEFT JOIN cell_candidates AS cell ON cell.run = found.run AND cell.cell = found.cell
LEFT JOIN events AS score ON score.seq = found.seq AND found.kind = 'score'
WHERE found.kind IN ('plan', 'cell')
  OR (found.kind = 'score' AND NOT EXISTS (
    SELECT 1 FROM events AS later
    WHERE later.run = found.run AND later.kind = 'score' AND later.cell = found.cell AND later.seq > found.seq
      AND later.body ->> '$.rules' = score.body ->> '$.rules'));
