-- Promises: for each (run, rules, cell) the last score, and no other, whether or not the cell counts: `scores` has those
-- that count, and is what to count. Nothing here is stored as a number that somebody could edit: every row is a score event.

CREATE VIEW last_scores AS
SELECT
  score.run AS run,
  score.cell AS cell,
  score.body ->> '$.rules' AS rules,
  score.body ->> '$.outcome' AS outcome,
  score.body ->> '$.status' AS status,
  score.body ->> '$.stage' AS stage,
  score.body ->> '$.reason' AS reason,
  score.body ->> '$.domain' AS domain,
  score.body ->> '$.value' AS value,
  score.body -> '$.applies' AS applies,
  score.body -> '$.metrics' AS metrics,
  score.body ->> '$.verdict' AS verdict,
  score.seq AS seq
FROM events AS score
WHERE score.kind = 'score'
  AND NOT EXISTS (
    SELECT 1 FROM events AS later
    WHERE later.run = score.run AND later.kind = 'score' AND later.cell = score.cell AND later.seq > score.seq
      AND later.body ->> '$.rules' = score.body ->> '$.rules');
