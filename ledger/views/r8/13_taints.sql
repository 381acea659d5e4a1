-- Promises: one row for each taint ever said, oldest first, with the first `clear` that withdrew it, if one did. Both
-- stay in the record.

CREATE VIEW taints AS
SELECT
  taint.seq AS seq,
  taint.at AS at,
  taint.body ->> '$.target.what' AS what,
  taint.body ->> '$.target.id' AS id,
  taint.body ->> '$.reason' AS reason,
  cleared.seq AS cleared_by,
  cleared.body ->> '$.reason' AS cleared_because
FROM events AS taint
LEFT JOIN events AS cleared ON cleared.seq = (
  SELECT min(seq) FROM events WHERE kind = 'clear' AND body ->> '$.taint' = taint.seq)
WHERE taint.kind = 'taint'
ORDER BY taint.seq;
