-- Promises: which runs stand on a frozen fixture, prompt or rule set, newest first; of a rule set, the later scoring
-- passes too. :name is the name or label of what was frozen; empty for all.

SELECT frozen.what, frozen.label, used.freeze AS freeze, frozen.digest, used.run, used.seq
FROM (
  SELECT plan.run, plan.seq, each.value ->> '$.freeze' AS freeze
  FROM events AS plan, json_each(plan.body, '$.fixtures') AS each WHERE plan.kind = 'plan'
  UNION
  SELECT plan.run, plan.seq, each.value ->> '$.prompt_freeze'
  FROM events AS plan, json_each(plan.body, '$.candidates') AS each WHERE plan.kind = 'plan'
  UNION
  SELECT plan.run, plan.seq, each.value ->> '$.freeze'
  FROM events AS plan, json_each(plan.body, '$.rules') AS each WHERE plan.kind = 'plan'
  UNION
  SELECT run, seq, body ->> '$.freeze' FROM events WHERE kind = 'tally'
) AS used
JOIN freezes AS frozen ON frozen.seq = used.freeze
WHERE :name = '' OR frozen.name = :name OR frozen.label = :name
ORDER BY used.seq DESC, frozen.what, frozen.label
