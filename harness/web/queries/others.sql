-- Promises: the newest evaluations of a suite beside one run: run, name, and when each opened by its writer's clock.
SELECT
  run,
  body ->> '$.name' AS name,
  at
FROM main.events
WHERE kind = 'plan' AND run <> ? AND body ->> '$.suite' = ? AND body ->> '$.purpose' = 'evaluation'
ORDER BY seq DESC
LIMIT ?
