-- Promises: one row for each frozen file, oldest first, with its plain digest and (for a rule set) its identity, which
-- covers the sources of the stages it names. `label` is what scoreboards call it.

CREATE VIEW freezes AS
SELECT
  seq,
  at,
  body ->> '$.what' AS what,
  body ->> '$.name' AS name,
  CASE body ->> '$.what'
    WHEN 'rules' THEN (body ->> '$.name') || '@' || substr(body ->> '$.identity', 1, 12)
    ELSE body ->> '$.name'
  END AS label,
  body ->> '$.digest' AS digest,
  body ->> '$.identity' AS identity
FROM events
WHERE kind = 'freeze'
ORDER BY seq;
