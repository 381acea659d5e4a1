-- Promises: every report that somebody may still rely on and shouldn't without a look: it was superseded, its run was, or
-- something that it rests on was found unsafe. It says which, and who was given it.

SELECT reports.seq, reports.run, reports.format, reports.published_to, reports.superseded, reports.superseded_by,
  reports.tainted, runs.superseded AS run_superseded, runs.superseded_by AS run_superseded_by,
  runs.tainted AS run_tainted
FROM reports
LEFT JOIN runs ON runs.run = reports.run
WHERE reports.superseded OR reports.tainted OR runs.superseded OR runs.tainted
ORDER BY reports.seq DESC
