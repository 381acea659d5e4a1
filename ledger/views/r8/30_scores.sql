-- Promises: for each (run, rules, cell) the last score, and no other, of the cells that count (`planned_cells`): not of one
-- that is outside the plan, and of each once. Nothing here is stored as a number that somebody could edit: every row is a
-- score event. `verdict` is the scorer's own word for what it found, empty where it has none.

CREATE VIEW scores AS
SELECT last_scores.*
FROM planned_cells AS counted
CROSS JOIN last_scores ON last_scores.run = counted.run AND last_scores.cell = counted.cell
WHERE counted.counts;
