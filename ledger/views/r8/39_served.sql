-- Promises: who answered, as the replies tell it: one row for each name that was told of the answer that stands for a cell.
-- `what` is 'model', 'fingerprint' (the build of the server), 'provider' (the one behind a router) or 'tools': the digest of
-- the list of tools that its request carried, 'none' where it carried none. What a reply doesn't tell has no row, and is no
-- server of another name; what an older release recorded tells the model alone. Cells without an answer have no rows.

CREATE VIEW served AS
SELECT
  plan.run AS run,
  each.value ->> 0 AS cell,
  each.value ->> 1 AS candidate,
  each.value ->> 2 AS what,
  each.value ->> 3 AS name
FROM events AS plan
-- One array a run, made by one subquery: so that a question about one run reads the readings of that run alone.
CROSS JOIN json_each((
  SELECT json_group_array(json_array(cell, candidate, what, name))
  FROM (
    WITH answered AS (
      SELECT counted.cell AS cell, counted.candidate AS candidate, evidence.seq AS evidence, evidence.kind AS kind
      FROM planned_cells AS counted
      LEFT JOIN events AS evidence ON evidence.seq = (
        SELECT max(+came.seq) FROM events AS came
        WHERE came.run = plan.run AND came.kind IN ('response', 'reuse', 'import') AND came.cell = counted.cell)
      WHERE counted.run = plan.run AND counted.counts
    ),
    told AS (
      SELECT answered.*, parse.body AS body
      FROM answered
      CROSS JOIN events AS parse ON parse.run = plan.run AND parse.kind = 'parse' AND parse.cell = answered.cell
        AND +parse.seq > coalesce(answered.evidence, 0)
      WHERE parse.body ->> '$.status' <> 'error'
    )
    SELECT DISTINCT told.cell AS cell, told.candidate AS candidate, what.key AS what, name.value AS name
    FROM told
    CROSS JOIN json_each(json_patch(
      CASE json_type(told.body, '$.served')
        WHEN 'object' THEN told.body -> '$.served'
        ELSE json_object('model', json_array(told.body ->> '$.model'))
      END,
      coalesce((
        SELECT json_object('tools', json_array(coalesce(request.body ->> '$.tools', 'none')))
        FROM events AS response
        CROSS JOIN json_each(response.causes) AS cause
        CROSS JOIN events AS request ON request.seq = cause.value
        WHERE request.kind = 'request' AND request.body ->> '$.schema' > 1 AND response.seq = CASE told.kind
          WHEN 'reuse' THEN (
            SELECT max(origin.seq)
            FROM events AS reuse
            CROSS JOIN json_each(reuse.causes) AS taken
            CROSS JOIN events AS origin ON origin.seq = taken.value
            WHERE reuse.seq = told.evidence AND origin.kind = 'response')
          ELSE told.evidence
        END
      ), '{}'))) AS what
    CROSS JOIN json_each(what.value) AS name
    WHERE name.value IS NOT NULL
    ORDER BY 1, 3, 4
  ))) AS each
WHERE plan.kind = 'plan';
