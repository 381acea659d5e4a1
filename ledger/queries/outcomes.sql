-- Promises: how many cells of run ?1 end in each outcome under each rule set, by the last score of each: what the view
-- `scores` says, without asking of every score whether a later one exists. Cells that no score speaks of aren't in it.

SELECT rules, outcome, count(*) AS cells
FROM (
  SELECT body ->> '$.rules' AS rules, body ->> '$.outcome' AS outcome, max(seq)
  FROM main.events
  WHERE run = ?1 AND kind = 'score' AND +cell IN (SELECT cell FROM planned_cells WHERE run = ?1 AND counts)
  GROUP BY rules, cell
)
WHERE rules IS NOT NULL
GROUP BY rules, outcome
