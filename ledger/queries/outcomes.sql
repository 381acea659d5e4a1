-- Promises: how many cells of run ?1 end in each outcome under rule set ?2, by the last score of each: what the view
-- `scores` says, without asking of every score whether a later one exists. Cells that no score speaks of aren't in it.

SELECT outcome, count(*) AS cells
FROM (
  SELECT body ->> '$.outcome' AS outcome, max(seq)
  FROM main.events
  WHERE run = ?1 AND kind = 'score' AND body ->> '$.rules' = ?2
  GROUP BY cell
)
GROUP BY outcome
