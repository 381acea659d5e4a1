-- Promises: one row for each request that was written down, with the response and the fault that came of it. A request
-- with neither is one whose fate is unknown: it may have been answered, and paid for.

CREATE VIEW attempts AS
SELECT
  request.run AS run,
  request.cell AS cell,
  request.body ->> '$.turn' AS turn,
  request.body ->> '$.attempt' AS attempt,
  request.seq AS request,
  response.seq AS response,
  fault.seq AS fault,
  response.body ->> '$.status' AS http_status,
  response.body ->> '$.whole' AS whole,
  fault.body ->> '$.stage' AS stage,
  CASE
    WHEN fault.seq IS NOT NULL THEN fault.body ->> '$.reason'
    WHEN response.seq IS NULL THEN 'fate_unknown'
  END AS reason,
  coalesce(response.body ->> '$.total_ms', fault.body ->> '$.total_ms') AS total_ms,
  request.at AS asked_at
FROM events AS request
LEFT JOIN events AS response ON response.seq = (
  SELECT max(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE edges.cause = request.seq AND effect.kind = 'response')
LEFT JOIN events AS fault ON fault.seq = (
  SELECT max(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE edges.cause = request.seq AND effect.kind = 'fault')
WHERE request.kind = 'request';
