-- Promises: the candidate of every planned cell, also of one whose body was withheld: a plan's cells stand candidate by
-- candidate, in the plan's order, equally many for each.

CREATE VIEW cell_candidates AS
SELECT
  cell.run AS run,
  cell.cell AS cell,
  coalesce(
    cell.body ->> '$.candidate',
    (SELECT plan.body -> '$.candidates' ->> (
        (cell.cell - 1) * json_array_length(plan.body, '$.candidates') / (plan.body ->> '$.cells')) ->> '$.label'
      FROM events AS plan WHERE plan.run = cell.run AND plan.kind = 'plan')
  ) AS candidate,
  cell.seq AS seq
FROM events AS cell
WHERE cell.kind = 'cell';
