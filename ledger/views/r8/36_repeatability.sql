-- Promises: for each run, candidate and rule set, how many of the cases that were measured more than once (`repeated`, out
-- of `cases`) ended in more than one outcome (`changed`). A case is one input, arm and twin; its repeats differ in the epoch
-- alone. Cells that are unmeasured say nothing of it.

CREATE VIEW repeatability AS
SELECT
  plan.run AS run,
  counted.value ->> 0 AS candidate,
  counted.value ->> 1 AS rules,
  counted.value ->> 2 AS cases,
  counted.value ->> 3 AS repeated,
  counted.value ->> 4 AS changed
FROM events AS plan
CROSS JOIN json_each((
  SELECT json_group_array(json_array(candidate, rules, cases, repeated, changed))
  FROM (
    SELECT candidate, rules, count(*) AS cases, sum(measured > 1) AS repeated, sum(outcomes > 1) AS changed
    FROM (
      SELECT
        counted.candidate AS candidate,
        scores.rules AS rules,
        sum(scores.outcome <> 'unmeasured') AS measured,
        count(DISTINCT CASE WHEN scores.outcome <> 'unmeasured'
          THEN scores.outcome || ' ' || coalesce(scores.value, '') || ' ' || scores.metrics END) AS outcomes
      FROM planned_cells AS counted
      CROSS JOIN events AS cell ON cell.seq = counted.seq
      CROSS JOIN last_scores AS scores ON scores.run = counted.run AND scores.cell = counted.cell
      WHERE counted.run = plan.run AND counted.counts AND cell.body IS NOT NULL
      GROUP BY counted.candidate, scores.rules, cell.body ->> '$.input', cell.body ->> '$.arm',
        cell.body ->> '$.twin'
    )
    GROUP BY candidate, rules
  ))) AS counted
WHERE plan.kind = 'plan';
