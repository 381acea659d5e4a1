-- Promises: the rule sets of each run: those that its plan names, and those of later scoring passes (tallies), each
-- once, with the seq of the rule set's freeze. A freeze that is named and isn't one of that label doesn't count: `freeze`
-- is NULL where none is left.

CREATE VIEW run_rules AS
SELECT named.run AS run, named.rules AS rules, min(frozen.seq) AS freeze
FROM (
  SELECT plan.run AS run, each.value ->> '$.label' AS rules, each.value ->> '$.freeze' AS freeze
  FROM events AS plan, json_each(plan.body, '$.rules') AS each
  WHERE plan.kind = 'plan'
  UNION ALL
  SELECT run, body ->> '$.rules', body ->> '$.freeze' FROM events WHERE kind = 'tally'
) AS named
LEFT JOIN events AS frozen ON frozen.seq = named.freeze AND frozen.kind = 'freeze'
  AND frozen.body ->> '$.what' = 'rules'
  AND (frozen.body ->> '$.name') || '@' || substr(frozen.body ->> '$.identity', 1, 12) = named.rules
GROUP BY named.run, named.rules;
