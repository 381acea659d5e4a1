-- Promises: one row for each attempt of one run after which the same turn was asked again: what came of it, why the harness
-- waited, and which request followed. :run is a run's id; empty for the newest.

SELECT failed.run, failed.cell, failed.turn, failed.attempt, failed.request, failed.http_status, failed.response,
  failed.fault, failed.stage, failed.reason,
  (SELECT wait.body ->> '$.why' FROM events AS wait
    WHERE wait.run = failed.run AND wait.kind = 'wait' AND wait.cell = failed.cell AND wait.seq > failed.request
    ORDER BY wait.seq LIMIT 1) AS waited_for,
  min(again.seq) AS asked_again
FROM attempts AS failed
JOIN events AS again ON again.run = failed.run AND again.kind = 'request' AND again.cell = failed.cell
  AND again.seq > failed.request AND again.body ->> '$.turn' = failed.turn
WHERE failed.run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
GROUP BY failed.request
ORDER BY failed.request
