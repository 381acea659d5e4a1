-- Promises: the reports that speak of run ?1, oldest first: their format, the report that each corrects, their causes. A
-- body that somebody made no JSON of is passed over.

SELECT seq, body ->> '$.format' AS format, body ->> '$.corrects' AS corrects, causes
FROM main.events
WHERE kind = 'report' AND CASE WHEN json_valid(body) THEN body ->> '$.run' END = ?1
ORDER BY seq
