-- Promises: the reports that were written of one run, oldest first, as the view `reports` has them.
SELECT
  seq,
  at,
  format,
  digest,
  corrects,
  published_to,
  superseded,
  superseded_by,
  tainted
FROM reports
WHERE run = ?
ORDER BY seq
