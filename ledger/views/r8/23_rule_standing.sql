-- Promises: one row for each rule set of each run, which says whether it is `confirmatory` on that run or `post hoc`, and
-- why. It follows from the order of the chain alone, never from a clock or a name: a rule set (its bars are part of it) is
-- confirmatory when it and the fixtures of the plan were frozen before the run's first response. A response that the run
-- took over counts where it was first recorded. What was imported was answered before anybody here could freeze anything,
-- so nothing is confirmatory on it. `first_response` is NULL while nothing has come: then nothing can have been seen.

CREATE VIEW rule_standing AS
WITH seen AS (
  SELECT
    plan.run AS run,
    plan.body ->> '$.via' AS via,
    (SELECT max(fixture.value ->> '$.freeze') FROM json_each(plan.body, '$.fixtures') AS fixture) AS fixtures,
    -- The plus signs: else the least is looked for from the beginning of the ledger, not of the run.
    (SELECT min(+seq) FROM events WHERE run = plan.run AND kind = 'import') AS imported,
    (SELECT min(seq) FROM (
      SELECT min(+response.seq) AS seq FROM events AS response WHERE response.run = plan.run AND response.kind = 'response'
      UNION ALL
      SELECT min(origin.seq)
      FROM events AS reuse
      CROSS JOIN json_each(reuse.causes) AS cause
      CROSS JOIN events AS origin ON origin.seq = cause.value
      WHERE reuse.run = plan.run AND reuse.kind = 'reuse' AND origin.kind = 'response'
      UNION ALL
      -- A response of another ledger has no place in this chain: it was there before all of it.
      SELECT 0
      FROM events AS reuse
      WHERE reuse.run = plan.run AND reuse.kind = 'reuse' AND NOT EXISTS (
        SELECT 1 FROM json_each(reuse.causes) AS cause CROSS JOIN events AS origin ON origin.seq = cause.value
        WHERE origin.kind = 'response')
    )) AS first_response
  FROM events AS plan
  WHERE plan.kind = 'plan'
)
SELECT
  run_rules.run AS run,
  run_rules.rules AS rules,
  run_rules.freeze AS freeze,
  seen.first_response AS first_response,
  CASE
    WHEN seen.imported IS NOT NULL OR run_rules.freeze IS NULL THEN 'post hoc'
    WHEN seen.first_response IS NULL THEN 'confirmatory'
    WHEN run_rules.freeze < seen.first_response AND seen.fixtures < seen.first_response THEN 'confirmatory'
    ELSE 'post hoc'
  END AS standing,
  CASE
    WHEN seen.imported IS NOT NULL THEN 'the answers were imported'
    WHEN run_rules.freeze IS NULL THEN 'no freeze of this rule set is named'
    WHEN seen.first_response IS NULL THEN 'no response has come'
    WHEN run_rules.freeze >= seen.first_response THEN 'the rule set was frozen after the first response'
    WHEN seen.fixtures >= seen.first_response THEN 'a fixture was frozen after the first response'
    WHEN seen.via = 'replay' THEN 'frozen before the first response, which is the replay of an older one'
    ELSE 'frozen before the first response'
  END AS because
FROM run_rules
JOIN seen ON seen.run = run_rules.run;
