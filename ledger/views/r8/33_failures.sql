-- Promises: every unmeasured cell counted exactly once under each rule set, by the stage that it reached, the reason and
-- the fault domain (harness, provider or model).

CREATE VIEW failures AS
SELECT run, candidate, rules, stage, reason, domain, count(*) AS count
FROM cells
WHERE outcome = 'unmeasured'
GROUP BY run, candidate, rules, stage, reason, domain
ORDER BY run, candidate, rules, count DESC, stage, reason;
