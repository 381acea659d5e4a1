-- Promises: to whom each of these reports (?1, a JSON array of seqs) was given, in order; NULL where that is withheld.

SELECT publish.seq AS seq, edges.cause AS report, publish.body ->> '$.to' AS "to"
FROM main.edges AS edges
CROSS JOIN main.events AS publish ON publish.seq = edges.effect
WHERE edges.cause IN (SELECT value FROM json_each(?1)) AND publish.kind = 'publish'
ORDER BY publish.seq
