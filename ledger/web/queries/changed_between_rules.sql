-- Promises: the cells of one run whose outcome or value differs between two of its rule sets, each pair of rule sets once,
-- with both readings side by side. :run is a run's id; empty for the newest.

SELECT one.run, one.cell, one."case", one.candidate,
  one.rules AS rules, one.outcome AS outcome, one.value AS value, one.reason AS reason,
  other.rules AS other_rules, other.outcome AS other_outcome, other.value AS other_value, other.reason AS other_reason
FROM cells AS one
JOIN cells AS other ON other.run = one.run AND other.cell = one.cell AND other.rules > one.rules
WHERE one.run = coalesce(nullif(:run, ''), (SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC LIMIT 1))
  AND (one.outcome <> other.outcome OR one.value IS NOT other.value)
ORDER BY one.cell, one.rules, other.rules
