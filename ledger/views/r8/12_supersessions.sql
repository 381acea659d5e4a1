-- Promises: one row for each supersession ever said, oldest first. One that a later supersession names (and that itself
-- stands) is no longer in force; it stays in the list. Of several in force for one target, the last counts. `by` is the
-- direct successor, NULL where there is none.

CREATE VIEW supersessions AS
WITH RECURSIVE said AS (
  SELECT
    seq,
    at,
    body ->> '$.target.what' AS what,
    body ->> '$.target.id' AS id,
    body ->> '$.by.id' AS "by",
    body ->> '$.category' AS category,
    body ->> '$.reason' AS reason,
    row_number() OVER (ORDER BY seq DESC) AS position
  FROM events
  WHERE kind = 'supersede'
),
-- From the newest to the oldest, because only a later one can take one back, and only while it stands itself.
walked(position, taken_back) AS (
  SELECT 0, ','
  UNION ALL
  SELECT
    said.position,
    CASE
      WHEN said.what = 'supersession' AND CAST(said.id AS INTEGER) < said.seq
        AND instr(walked.taken_back, ',' || said.seq || ',') = 0
      THEN walked.taken_back || said.id || ','
      ELSE walked.taken_back
    END
  FROM walked
  JOIN said ON said.position = walked.position + 1
)
SELECT seq, at, what, id, "by", category, reason,
  instr((SELECT taken_back FROM walked ORDER BY position DESC LIMIT 1), ',' || seq || ',') = 0 AS in_force
FROM said
ORDER BY seq;
