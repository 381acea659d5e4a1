-- Promises: every event that names event ?1 as a cause, in order of the chain.

SELECT events.seq, events.kind, events.run, events.cell
FROM main.edges AS edges
CROSS JOIN main.events AS events ON events.seq = edges.effect
WHERE edges.cause = ?1
ORDER BY edges.effect
