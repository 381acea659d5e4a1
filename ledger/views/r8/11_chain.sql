-- Promises: every event line's columns in order, and whether `prev` repeats the hash stored before it. SQL can't
-- recompute BLAKE3: whether the hashes are true is what `ledger verify` says.

CREATE VIEW chain AS
SELECT
  seq,
  at,
  kind,
  run,
  cell,
  causes,
  prev,
  hash,
  prev = coalesce((SELECT before.hash FROM events AS before WHERE before.seq = events.seq - 1),
    '0000000000000000000000000000000000000000000000000000000000000000') AS linked,
  body IS NULL AS withheld
FROM events
ORDER BY seq;
