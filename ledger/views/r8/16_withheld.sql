-- Promises: one row for each event of which a redaction withholds something (its body, or blobs of it), and which
-- redaction that is. An event that two redactions name has two rows.

CREATE VIEW withheld AS
SELECT
  target.seq AS seq,
  target.kind AS kind,
  target.run AS run,
  target.cell AS cell,
  target.body IS NULL AS body,
  (SELECT count(*) FROM blobs WHERE blobs.seq = target.seq AND blobs.data IS NULL) AS blobs,
  redact.seq AS redact,
  redact.body ->> '$.category' AS category,
  redact.body ->> '$.reason' AS reason
FROM events AS redact
CROSS JOIN edges ON edges.effect = redact.seq
CROSS JOIN events AS target ON target.seq = edges.cause
WHERE redact.kind = 'redact';
