-- Promises: one row for each request that was written down, with the tokens that the provider counted for it. `counted` says
-- what is known: 'counted' (the reply tells its tokens), 'refused' (an error status came: nothing was produced), 'unsent'
-- (no connection was made), or 'unknown': no reply, one that broke off or ended in an error, or one whose counts are missing,
-- came ahead of the end, or don't add up; it may have been paid for, and its tokens are NULL, never 0. `input_tokens` leaves
-- out what was read from a cache or written to one (`cached_tokens`, `cache_write_tokens`), for every dialect.
-- `output_tokens` includes reasoning, wherever the provider counts it. `apart` is above 0 where tokens among these (audio,
-- images, hour-long caches), tools on the provider's side or the call's tier have a price of their own: then no price list
-- here tells the cost. `whole` says that a whole reply came over the wire.

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
    WHEN response.seq IS NULL AND fault.body ->> '$.reason' IN
      ('dns', 'connect_refused', 'tls', 'tls_cut', 'proxy_refused') THEN 'unsent'
    ELSE 'unknown'
  END AS counted,
  tokens.value ->> 0 AS input_tokens,
  tokens.value ->> 1 AS cached_tokens,
  tokens.value ->> 2 AS cache_write_tokens,
  tokens.value ->> 3 AS output_tokens,
  tokens.value ->> 4 AS apart,
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
-- One row, or none where the reply's counts are missing or don't add up. Every dialect has its own names for the same thing
-- (docs/MONEY.md); harness/_usage.py says why each rule stands here.
LEFT JOIN json_each(json_array((
  SELECT json_array(iif(inside, taken - cached - written, taken), cached, written, output,
    other + searches + charged + hours)
  FROM (
    SELECT *, CASE
      WHEN predicted > given THEN NULL
      WHEN total IS NULL THEN iif(other = 0 AND (reasoning = 0 OR NOT inside AND reasoning <= given), given, NULL)
      WHEN total = entered + given THEN iif(reasoning <= given, given, NULL)
      WHEN total = entered + given + reasoning THEN given + reasoning
    END AS output
    FROM (
      SELECT *, iif(inside, taken, taken + cached + written) AS entered
      FROM (
        SELECT
          max(value) FILTER (WHERE role = 'taken') AS taken,
          max(value) FILTER (WHERE role = 'given') AS given,
          max(value) FILTER (WHERE role = 'total') AS total,
          coalesce(max(value) FILTER (WHERE role = 'cached'), 0) AS cached,
          coalesce(max(value) FILTER (WHERE role = 'written'), 0) AS written,
          coalesce(max(value) FILTER (WHERE role = 'reasoning'), 0) AS reasoning,
          sum(value) FILTER (WHERE role = 'missed') AS missed,
          sum(value) FILTER (WHERE role = 'kept') AS kept,
          coalesce(sum(value) FILTER (WHERE key = 'cache_creation.ephemeral_1h_input_tokens'), 0) AS hours,
          coalesce(sum(value) FILTER (WHERE role = 'predicted'), 0) AS predicted,
          coalesce(sum(value) FILTER (WHERE role = 'other'), 0) AS other,
          coalesce(sum(value) FILTER (WHERE role = 'searches'), 0) AS searches,
          coalesce(sum(value) FILTER (WHERE role = 'charged'), 0) AS charged,
          coalesce(sum(value) FILTER (WHERE role = 'unclear'), 0) AS unclear,
          -- What is told twice must be the same both times.
          count(DISTINCT value) FILTER (WHERE role = 'taken') > 1
          OR count(DISTINCT value) FILTER (WHERE role = 'given') > 1
          OR count(DISTINCT value) FILTER (WHERE role = 'cached') > 1
          OR count(DISTINCT value) FILTER (WHERE role = 'written') > 1
          OR count(DISTINCT value) FILTER (WHERE role = 'reasoning') > 1 AS disagree,
          sum(key = 'cache_read_input_tokens' AND value > 0) = sum(role = 'cached')
          AND sum(role = 'cached') = 1 AS cached_doubted,
          sum(key = 'cache_creation_input_tokens' AND value > 0) = sum(role = 'written')
          AND sum(role = 'written') = 1 AS written_doubted,
          -- OpenAI's figures include the caches' tokens; Anthropic's stand beside them.
          sum(key = 'prompt_tokens' OR substr(key, 1, 22) = 'prompt_tokens_details.'
            OR substr(key, 1, 21) = 'input_tokens_details.') > 0 AS inside
        FROM (
          SELECT key, value, CASE
            WHEN key IN ('prompt_tokens', 'input_tokens', 'prompt_eval_count') THEN 'taken'
            WHEN key IN ('completion_tokens', 'output_tokens', 'eval_count') THEN 'given'
            WHEN key = 'total_tokens' THEN 'total'
            WHEN key IN (
              'prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens', 'cached_tokens',
              'num_cached_tokens', 'prompt_cache_hit_tokens', 'cache_read_input_tokens') THEN 'cached'
            WHEN key = 'prompt_cache_miss_tokens' THEN 'missed'
            WHEN key IN (
              'prompt_tokens_details.cache_write_tokens', 'input_tokens_details.cache_write_tokens',
              'prompt_tokens_details.cache_creation_tokens', 'prompt_tokens_details.cache_creation_input_tokens',
              'cache_creation_input_tokens') THEN 'written'
            WHEN key IN (
              'cache_creation.ephemeral_5m_input_tokens', 'cache_creation.ephemeral_1h_input_tokens') THEN 'kept'
            WHEN key IN (
              'completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens',
              'output_tokens_details.thinking_tokens', 'reasoning_tokens') THEN 'reasoning'
            WHEN key IN (
              'completion_tokens_details.accepted_prediction_tokens',
              'completion_tokens_details.rejected_prediction_tokens') THEN 'predicted'
            WHEN key IN ('not_counts', 'not_final', 'citation_tokens') THEN 'unclear'
            WHEN key = 'num_search_queries' THEN 'searches'
            WHEN key IN (
              'num_sources_used', 'num_server_side_tools_used', 'search_context_size', 'usage_breakdown',
              'service_tier', 'prompt_audio_seconds')
              OR substr(key, 1, 16) = 'server_tool_use.'
              OR substr(key, 1, 31) = 'server_side_tool_usage_details.' THEN 'charged'
            WHEN substr(key, -12) = '.text_tokens' OR substr(key, -26) = '.ephemeral_5m_input_tokens' THEN ''
            WHEN substr(key, -6) IN ('tokens', 'Tokens') OR substr(key, -11) = 'token_count'
              OR substr(key, -10) = 'TokenCount' THEN 'other'
            ELSE '' END AS role
          FROM json_each(parse.body, '$.usage')
          WHERE coalesce(parse.body ->> '$.status', 'error') <> 'error' OR parse.body ->> '$.reason' IN (
            'no_stop_reason', 'unknown_stop_reason', 'case_unusable', 'gold_unusable')
        )
      )
    )
  )
  WHERE taken IS NOT NULL AND output IS NOT NULL AND unclear = 0 AND NOT disagree
    AND (missed IS NULL OR inside AND cached + missed = taken)
    AND coalesce(kept, written) = written
    AND (NOT inside OR NOT cached_doubted AND NOT written_doubted AND cached + written <= taken)
    AND entered BETWEEN 1 AND 1000000000 AND output <= 1000000000
    -- With an answer, 0 is a placeholder.
    AND (output > 0 OR parse.body ->> '$.reason' IN ('empty_content', 'null_content', 'no_text_block'))
    AND other <= entered + output AND NOT (searches > 0 AND reasoning > 0)
))) AS tokens
WHERE request.kind = 'request';
