-- Promises: the seqs of one run's own events, of what they name as causes, of the reports that speak of it, and of what
-- was said since of its plan, tallies and reports (that they were published, superseded, tainted, cleared). :run is its id.

WITH own AS (SELECT seq, kind FROM main.events WHERE run = :run),
told AS (
  SELECT seq FROM main.events WHERE kind = 'report' AND body ->> '$.run' = :run
  UNION
  SELECT seq FROM main.events WHERE kind IN ('supersede', 'taint')
    AND body ->> '$.target.what' = 'run' AND body ->> '$.target.id' = :run
  UNION
  SELECT edges.effect
  FROM own CROSS JOIN main.edges ON edges.cause = own.seq
  CROSS JOIN main.events AS effect ON effect.seq = edges.effect AND effect.run = ''
  WHERE own.kind IN ('plan', 'tally')
)
SELECT seq FROM own
UNION
-- Not by the edges, which are ordered by cause.
SELECT cause.value FROM main.events AS effect CROSS JOIN json_each(effect.causes) AS cause WHERE effect.run = :run
UNION
SELECT seq FROM told
UNION
SELECT edges.effect
FROM told CROSS JOIN main.edges ON edges.cause = told.seq
CROSS JOIN main.events AS effect ON effect.seq = edges.effect AND effect.run = ''
