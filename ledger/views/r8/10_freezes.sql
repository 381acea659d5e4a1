-- Promises: one row for each frozen file, oldest first, with its plain digest and (for a rule set) its identity, which
-- covers the sources of the stages it names. `label` is what scoreboards call it. A freeze that was superseded or tainted
-- stays, marked.

CREATE VIEW freezes AS
SELECT
  frozen.seq AS seq,
  frozen.at AS at,
  frozen.body ->> '$.what' AS what,
  frozen.body ->> '$.name' AS name,
  CASE frozen.body ->> '$.what'
    WHEN 'rules' THEN (frozen.body ->> '$.name') || '@' || substr(frozen.body ->> '$.identity', 1, 12)
    ELSE frozen.body ->> '$.name'
  END AS label,
  frozen.body ->> '$.digest' AS digest,
  frozen.body ->> '$.identity' AS identity,
  gone.seq IS NOT NULL AS superseded,
  gone."by" AS superseded_by,
  frozen.seq IN (SELECT seq FROM tainted_events) AS tainted
FROM events AS frozen
LEFT JOIN supersessions AS gone ON gone.seq = (
  SELECT max(seq) FROM supersessions WHERE in_force AND what = 'freeze' AND id = CAST(frozen.seq AS TEXT))
WHERE frozen.kind = 'freeze'
ORDER BY frozen.seq;
