-- Promises: the fifty requests of one run that took longest, in milliseconds, with what came of them. Requests whose end
-- nobody knows have no time and aren't among them. :run is a run's id; empty for the newest.

SELECT attempts.total_ms, attempts.run, attempts.cell, planned.candidate, attempts.turn, attempts.attempt,
  attempts.request, attempts.http_status, attempts.reason
FROM attempts
LEFT JOIN cell_candidates AS planned ON planned.run = attempts.run AND planned.cell = attempts.cell
WHERE attempts.total_ms IS NOT NULL
  AND attempts.run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
ORDER BY attempts.total_ms DESC, attempts.request
LIMIT 50
