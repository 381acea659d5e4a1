-- Promises: the cells that asked the same question (one identity) in two runs and were read as different answers, or ended
-- differently, under one rule set. An answer is the value that was read, as JSON text. :run is a run's id (empty for the
-- newest), :other another's (empty for the one before it).

SELECT one.run, one.cell, one."case", one.candidate, one.rules, one.outcome, (
    SELECT parse.body ->> '$.value' FROM events AS parse
    WHERE parse.run = one.run AND parse.kind = 'parse' AND parse.cell = one.cell
      AND parse.body ->> '$.rules' = one.rules
    ORDER BY parse.seq DESC LIMIT 1) AS answer,
  other.run AS other_run, other.cell AS other_cell, other.outcome AS other_outcome, (
    SELECT parse.body ->> '$.value' FROM events AS parse
    WHERE parse.run = other.run AND parse.kind = 'parse' AND parse.cell = other.cell
      AND parse.body ->> '$.rules' = other.rules
    ORDER BY parse.seq DESC LIMIT 1) AS other_answer
FROM cells AS one
JOIN cells AS other ON other.identity = one.identity AND other.rules = one.rules
WHERE one.run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
  AND other.run = coalesce(nullif(:other, ''), (
    SELECT run FROM events WHERE kind = 'plan' AND run <> coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
    ORDER BY seq DESC LIMIT 1))
  AND (one.outcome <> other.outcome OR answer IS NOT other_answer)
ORDER BY one.cell, one.rules
