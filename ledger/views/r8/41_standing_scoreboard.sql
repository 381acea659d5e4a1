-- Promises: the scoreboard as it is shown by default: the rows of `scoreboard` whose run was not superseded, and that no
-- superseded answer was graded for, nor superseded judge graded. `left_out` says, on every row, how many superseded runs it
-- leaves out. Tainted rows stay, marked.

CREATE VIEW standing_scoreboard AS
SELECT scoreboard.*, (SELECT count(*) FROM runs WHERE runs.superseded) AS left_out
FROM scoreboard
WHERE NOT superseded AND NOT rests_on_superseded;
