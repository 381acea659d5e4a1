-- Promises: one row for each attempt of one run after which the same turn was asked again: what came of it, why the harness
-- waited, and which request followed. :run is a run's id; empty for the newest.

SELECT failed.run, failed.cell, failed.turn, failed.attempt, failed.request, failed.http_status, failed.response,
  failed.fault, failed.stage, failed.reason,
  (SELECT wait.body ->> '$.why' FROM events AS wait
    WHERE wait.run = failed.run AND wait.kind = 'wait' AND wait.cell = failed.cell AND +wait.seq > failed.request
    ORDER BY +wait.seq LIMIT 1) AS waited_for,
  again.seq AS asked_again
FROM attempts AS failed
JOIN events AS again ON again.seq = (
  -- The plus signs: else the least is looked for among all events since, not among this cell's.
  SELECT min(+next.seq) FROM events AS next
  WHERE next.run = failed.run AND next.kind = 'request' AND next.cell = failed.cell AND +next.seq > failed.request
    AND next.body ->> '$.turn' = failed.turn)
WHERE failed.run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
ORDER BY failed.cell, failed.request
