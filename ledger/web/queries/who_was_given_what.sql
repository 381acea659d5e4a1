-- Promises: one row for each time a report was handed to somebody, newest first: to whom, which report, of which run, and
-- how that report stands now. A name that a redaction withholds is NULL.

SELECT publish.seq, publish.at, publish.body ->> '$.to' AS given_to, reports.seq AS report, reports.run,
  reports.superseded, reports.superseded_by, reports.tainted
FROM events AS publish
LEFT JOIN reports ON reports.seq = coalesce(publish.body ->> '$.report', (
  SELECT max(cause) FROM edges WHERE effect = publish.seq))
WHERE publish.kind = 'publish'
ORDER BY publish.seq DESC
