-- Promises: every component that a person let move under a run, oldest first, with the reason given; NULL where a
-- redaction withholds it.

CREATE VIEW accepts AS
SELECT
  seq,
  at,
  run,
  body ->> '$.component' AS component,
  body ->> '$.before' AS before,
  body ->> '$.after' AS after,
  body ->> '$.reason' AS reason
FROM events
WHERE kind = 'accept'
ORDER BY seq;
