-- Promises: one row for each request that was written down, with the tokens that the provider counted for it. `counted` says
-- what is known: 'counted' (the reply tells its tokens), 'refused' (an error status came: nothing was produced), 'unsent'
-- (no connection was made), or 'unknown': no reply, a cut one, or one that tells no tokens; it may have been paid for, and
-- its tokens are NULL, never 0. `input_tokens` leaves out what was read from a cache or written to one (`cached_tokens`,
-- `cache_write_tokens`), for every protocol. `output_tokens` includes reasoning.

CREATE VIEW usage AS
WITH told AS (
  SELECT
    request.run AS run,
    request.cell AS cell,
    request.body ->> '$.turn' AS turn,
    request.body ->> '$.attempt' AS attempt,
    request.seq AS request,
    response.seq AS response,
    response.body ->> '$.status' AS http_status,
    response.body ->> '$.whole' AS whole,
    (SELECT fault.body ->> '$.reason' FROM edges CROSS JOIN events AS fault ON fault.seq = edges.effect
      WHERE edges.cause = request.seq AND fault.kind = 'fault' ORDER BY fault.seq DESC LIMIT 1) AS fault,
    (SELECT parse.body -> '$.usage' FROM edges CROSS JOIN events AS parse ON parse.seq = edges.effect
      WHERE edges.cause = response.seq AND parse.kind = 'parse' AND parse.run = request.run
      ORDER BY parse.seq LIMIT 1) AS counts
  FROM events AS request
  LEFT JOIN events AS response ON response.seq = (
    SELECT max(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
    WHERE edges.cause = request.seq AND effect.kind = 'response')
  WHERE request.kind = 'request'
),
read AS (
  SELECT told.*,
    coalesce(counts ->> '$.cache_read_input_tokens', counts ->> '$."prompt_tokens_details.cached_tokens"', 0) AS cached,
    coalesce(counts ->> '$.cache_creation_input_tokens', 0) AS written,
    coalesce(
      counts ->> '$.input_tokens',
      (counts ->> '$.prompt_tokens') - coalesce(counts ->> '$."prompt_tokens_details.cached_tokens"', 0),
      counts ->> '$.prompt_eval_count') AS taken,
    coalesce(counts ->> '$.output_tokens', counts ->> '$.completion_tokens', counts ->> '$.eval_count') AS given
  FROM told
)
SELECT
  run,
  cell,
  (SELECT candidate FROM cell_candidates AS planned WHERE planned.seq = (
    SELECT max(seq) FROM events WHERE run = read.run AND kind = 'cell' AND cell = read.cell)) AS candidate,
  turn,
  attempt,
  request,
  response,
  http_status,
  CASE
    WHEN taken >= 0 AND given IS NOT NULL THEN 'counted'
    WHEN http_status >= 400 THEN 'refused'
    WHEN response IS NULL AND fault IN ('dns', 'connect_refused', 'tls') THEN 'unsent'
    ELSE 'unknown'
  END AS counted,
  CASE WHEN taken >= 0 AND given IS NOT NULL THEN taken END AS input_tokens,
  CASE WHEN taken >= 0 AND given IS NOT NULL THEN cached END AS cached_tokens,
  CASE WHEN taken >= 0 AND given IS NOT NULL THEN written END AS cache_write_tokens,
  CASE WHEN taken >= 0 AND given IS NOT NULL THEN given END AS output_tokens
FROM read;
