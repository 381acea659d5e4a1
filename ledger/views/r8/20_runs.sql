-- Promises: one row for each run, newest first. `status` is what the last close said; `open` when there is none, or when
-- something was asked after it. Whether an open run's process still lives can't be seen in a file: the command line asks
-- the lock and says `interrupted` when nobody holds it. Superseded runs stay, with their direct successor, and tainted ones
-- with a mark; `filter` names what narrowed a run's cases; `asked` counts cells of numbers that were planned. `tainted` says
-- that an event of the run rests on something found unsafe and not cleared.

CREATE VIEW runs AS
SELECT
  plan.run AS run,
  plan.body ->> '$.name' AS name,
  plan.body ->> '$.suite' AS suite,
  plan.body ->> '$.purpose' AS purpose,
  CASE
    WHEN closed.seq IS NULL THEN 'open'
    WHEN EXISTS (
      SELECT 1 FROM events AS later WHERE later.run = plan.run AND later.kind = 'request' AND +later.seq > closed.seq
    ) THEN 'open'
    ELSE closed.body ->> '$.status'
  END AS status,
  plan.body ->> '$.cells' AS planned,
  (SELECT count(DISTINCT asked.cell) FROM events AS asked
    WHERE asked.run = plan.run AND asked.kind = 'request' AND asked.cell <= plan.body ->> '$.cells') AS asked,
  plan.body ->> '$.limit' AS "limit",
  plan.body ->> '$.epochs' AS epochs,
  plan.body ->> '$.via' AS via,
  (SELECT json_group_array(value ->> '$.label') FROM json_each(plan.body, '$.candidates')) AS candidates,
  (SELECT json_group_array(value ->> '$.label') FROM json_each(plan.body, '$.rules')) AS rules,
  plan.body -> '$.tags' AS tags,
  coalesce(plan.body ->> '$.filter', '') AS "filter",
  gone.seq IS NOT NULL AS superseded,
  gone."by" AS superseded_by,
  plan.run IN (SELECT run FROM tainted_events) AS tainted,
  plan.seq AS seq,
  plan.at AS opened_at,
  closed.at AS closed_at
FROM events AS plan
LEFT JOIN events AS closed ON closed.seq = (
  SELECT max(seq) FROM events WHERE run = plan.run AND kind = 'close')
LEFT JOIN supersessions AS gone ON gone.seq = (
  SELECT max(seq) FROM supersessions WHERE in_force AND what = 'run' AND id = plan.run)
WHERE plan.kind = 'plan'
ORDER BY plan.seq DESC;
