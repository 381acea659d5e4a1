-- Promises: one row for each report that was written down, oldest first, with whom it was published to (a JSON array,
-- null where a redaction withholds the name), which report it corrects, and whether it was superseded or rests on
-- something tainted.

CREATE VIEW reports AS
SELECT
  report.seq AS seq,
  report.at AS at,
  report.body ->> '$.run' AS run,
  report.body ->> '$.format' AS format,
  report.body ->> '$.digest' AS digest,
  report.body ->> '$.corrects' AS corrects,
  (SELECT json_group_array(publish.body ->> '$.to')
    FROM events AS publish
    WHERE publish.kind = 'publish'
      AND (publish.body ->> '$.report' = report.seq
        OR EXISTS (SELECT 1 FROM edges WHERE cause = report.seq AND effect = publish.seq))) AS published_to,
  gone.seq IS NOT NULL AS superseded,
  gone."by" AS superseded_by,
  report.seq IN (SELECT seq FROM tainted_events) AS tainted
FROM events AS report
LEFT JOIN supersessions AS gone ON gone.seq = (
  SELECT max(seq) FROM supersessions WHERE in_force AND what = 'report' AND id = CAST(report.seq AS TEXT))
WHERE report.kind = 'report'
ORDER BY report.seq;
