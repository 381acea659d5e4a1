-- Promises: the texts of events ?1 < seq <= ?2 that a person may search for, one row each: (seq, kind, run, cell, field,
-- place, more, text). Nothing of what was withheld, and nothing of wire bytes. Why cells were unmeasured stands once a
-- run and rule set (`more`), however many cells it was.

WITH chunk AS MATERIALIZED (
  SELECT seq, kind, run, cell, body
  FROM ledger.events
  WHERE seq > ?1 AND seq <= ?2 AND body IS NOT NULL
    AND kind IN ('freeze', 'plan', 'cell', 'fault', 'score', 'close', 'accept', 'supersede', 'taint', 'clear', 'publish',
      'import', 'redact', 'note')
    AND CASE WHEN json_valid(body) THEN kind <> 'score' OR body ->> '$.outcome' = 'unmeasured' ELSE 0 END
),
said(seq, kind, run, cell, field, more, text) AS (
  SELECT seq, kind, run, cell, 'run', '', run FROM chunk WHERE kind = 'plan'
  UNION ALL
  SELECT seq, kind, run, cell, 'name', '', body ->> '$.name' FROM chunk WHERE kind = 'plan'
  UNION ALL
  SELECT seq, kind, run, cell, 'suite', '', body ->> '$.suite' FROM chunk WHERE kind = 'plan'
  UNION ALL
  SELECT seq, kind, run, cell, 'filter', '', body ->> '$.filter' FROM chunk WHERE kind = 'plan'
  UNION ALL
  SELECT seq, kind, run, cell, 'tag', '', tag.value FROM chunk, json_each(body, '$.tags') AS tag WHERE kind = 'plan'
  UNION ALL
  SELECT seq, kind, run, cell, 'candidate', '', candidate.value ->> '$.label'
  FROM chunk, json_each(body, '$.candidates') AS candidate
  WHERE kind = 'plan'
  UNION ALL
  SELECT min(seq), kind, run, 0, 'unmeasured', body ->> '$.rules', (body ->> '$.stage') || '/' || (body ->> '$.reason')
  FROM chunk
  WHERE kind = 'score'
  GROUP BY run, body ->> '$.rules', (body ->> '$.stage') || '/' || (body ->> '$.reason')
  UNION ALL
  SELECT seq, kind, run, cell, 'case', '', body ->> '$.case' FROM chunk WHERE kind = 'cell'
  UNION ALL
  SELECT seq, kind, run, cell, 'fault', '',
    (body ->> '$.stage') || '/' || (body ->> '$.reason') || ': ' || (body ->> '$.detail')
  FROM chunk
  WHERE kind = 'fault'
  UNION ALL
  SELECT seq, kind, run, cell, 'closed', '', body ->> '$.reason' FROM chunk WHERE kind = 'close'
  UNION ALL
  SELECT seq, kind, run, cell, 'accepted', '', (body ->> '$.component') || ': ' || (body ->> '$.reason')
  FROM chunk
  WHERE kind = 'accept'
  UNION ALL
  SELECT seq, kind, run, cell, CASE kind WHEN 'taint' THEN 'tainted' ELSE 'superseded' END, '',
    (body ->> '$.target.what') || ' ' || (body ->> '$.target.id') || ': ' || coalesce((body ->> '$.category') || ': ', '')
    || (body ->> '$.reason')
  FROM chunk
  WHERE kind IN ('taint', 'supersede')
  UNION ALL
  SELECT seq, kind, run, cell, 'cleared', '', body ->> '$.reason' FROM chunk WHERE kind = 'clear'
  UNION ALL
  SELECT seq, kind, run, cell, 'withheld', '', (body ->> '$.category') || ': ' || (body ->> '$.reason')
  FROM chunk
  WHERE kind = 'redact'
  UNION ALL
  SELECT seq, kind, run, cell, 'published to', '', body ->> '$.to' FROM chunk WHERE kind = 'publish'
  UNION ALL
  SELECT seq, kind, run, cell, 'frozen', '', (body ->> '$.what') || ' ' || (body ->> '$.name') FROM chunk WHERE kind = 'freeze'
  UNION ALL
  SELECT seq, kind, run, cell, 'imported', '', (body ->> '$.format') || ' ' || (body ->> '$.tool') FROM chunk WHERE kind = 'import'
  UNION ALL
  SELECT seq, kind, run, cell, 'note', '', body ->> '$.text' FROM chunk WHERE kind = 'note'
)
SELECT seq, kind, run, cell, field,
  CASE WHEN kind IN ('plan', 'score') THEN run WHEN cell > 0 THEN run || '/' || cell ELSE CAST(seq AS TEXT) END AS place,
  more, substr(text, 1, 100000) AS text
FROM said
WHERE text <> ''
ORDER BY seq
