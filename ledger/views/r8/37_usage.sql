-- Promises: one row for each request that was written down, with the tokens that the provider counted for it. `counted` says
-- what is known: 'counted' (the reply tells its tokens), 'refused' (an error status came: nothing was produced), 'unsent'
-- (no connection was made), or 'unknown': no reply, a cut one, or one that tells no tokens; it may have been paid for, and
-- its tokens are NULL, never 0. `input_tokens` leaves out what was read from a cache or written to one (`cached_tokens`,
-- `cache_write_tokens`), for every protocol. `output_tokens` includes reasoning. `whole` says that a whole reply came: what the
-- first part of a stream tells of its tokens is no count of the whole, and is not taken for one.

CREATE VIEW usage AS
SELECT
  request.run AS run,
  request.cell AS cell,
  (SELECT candidate FROM cell_candidates AS planned WHERE planned.seq = cell.seq) AS candidate,
  request.body ->> '$.turn' AS turn,
  request.body ->> '$.attempt' AS attempt,
  request.seq AS request,
  response.seq AS response,
  response.body ->> '$.status' AS http_status,
  CASE
    WHEN tokens.value IS NOT NULL THEN 'counted'
    WHEN response.body ->> '$.status' >= 400 THEN 'refused'
    WHEN response.seq IS NULL AND fault.body ->> '$.reason' IN ('dns', 'connect_refused', 'tls') THEN 'unsent'
    ELSE 'unknown'
  END AS counted,
  tokens.value ->> 0 AS input_tokens,
  tokens.value ->> 1 AS cached_tokens,
  tokens.value ->> 2 AS cache_write_tokens,
  tokens.value ->> 3 AS output_tokens,
  response.seq IS NOT NULL AND fault.seq IS NULL AND coalesce(parse.body ->> '$.reason', '') NOT IN (
    'stream_cut', 'short_body', 'decode_cut', 'timeout', 'connection_reset', 'protocol', 'fate_unknown') AS whole
FROM events AS request
LEFT JOIN events AS response ON response.seq = (
  SELECT max(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE edges.cause = request.seq AND effect.kind = 'response')
LEFT JOIN events AS fault ON fault.seq = (
  SELECT max(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE edges.cause = request.seq AND effect.kind = 'fault')
LEFT JOIN events AS parse ON parse.seq = (
  SELECT min(effect.seq) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE edges.cause = response.seq AND effect.kind = 'parse' AND effect.run = request.run)
LEFT JOIN events AS cell ON cell.seq = (
  SELECT max(seq) FROM events WHERE run = request.run AND kind = 'cell' AND cell = request.cell)
-- One row, or none where the reply doesn't tell both counts; the three protocols call them by other names.
LEFT JOIN json_each(json_array((
  SELECT json_array(taken, cached, written, given)
  FROM (
    SELECT
      coalesce(counts ->> '$.input_tokens', (counts ->> '$.prompt_tokens') - coalesce(
        counts ->> '$."prompt_tokens_details.cached_tokens"', 0), counts ->> '$.prompt_eval_count') AS taken,
      coalesce(
        counts ->> '$.cache_read_input_tokens', counts ->> '$."prompt_tokens_details.cached_tokens"', 0) AS cached,
      coalesce(counts ->> '$.cache_creation_input_tokens', 0) AS written,
      coalesce(counts ->> '$.output_tokens', counts ->> '$.completion_tokens', counts ->> '$.eval_count') AS given
    FROM (SELECT parse.body -> '$.usage' AS counts)
  )
  WHERE taken >= 0 AND given IS NOT NULL AND fault.seq IS NULL AND coalesce(parse.body ->> '$.reason', '') NOT IN (
    'stream_cut', 'short_body', 'decode_cut', 'timeout', 'connection_reset', 'protocol', 'fate_unknown')
))) AS tokens
WHERE request.kind = 'request';
