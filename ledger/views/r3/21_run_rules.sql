-- Promises: the rule sets of each run: those that its plan names, and those of later scoring passes (tallies), each
-- once, with the seq of the rule set's freeze.

CREATE VIEW run_rules AS
SELECT run, rules, min(freeze) AS freeze
FROM (
  SELECT plan.run AS run, each.value ->> '$.label' AS rules, each.value ->> '$.freeze' AS freeze
  FROM events AS plan, json_each(plan.body, '$.rules') AS each
  WHERE plan.kind = 'plan'
  UNION ALL
  SELECT run, body ->> '$.rules', body ->> '$.freeze' FROM events WHERE kind = 'tally'
)
GROUP BY run, rules;
