-- Promises: every planned cell once under each rule set of its run, each with exactly one outcome; a cell that doesn't
-- count (`planned_cells`) isn't among them. A cell that no score speaks of is `unmeasured`, and says how far it came:
-- not_asked, fate_unknown (sent, no reply known), or internal (the harness stopped before it had read the reply). So nothing
-- can vanish from a denominator.

CREATE VIEW cells AS
SELECT
  counted.run AS run,
  counted.cell AS cell,
  run_rules.rules AS rules,
  cell.body ->> '$.case' AS "case",
  cell.body ->> '$.fixture' AS fixture,
  counted.candidate AS candidate,
  cell.body ->> '$.arm' AS arm,
  cell.body ->> '$.epoch' AS epoch,
  cell.body ->> '$.twin' AS twin,
  coalesce(scores.outcome, 'unmeasured') AS outcome,
  CASE
    WHEN scores.seq IS NOT NULL THEN scores.status
    WHEN asked.seq IS NULL THEN 'not_asked'
    WHEN told.seq IS NULL THEN 'fate_unknown'
    ELSE 'error'
  END AS status,
  CASE WHEN scores.seq IS NOT NULL THEN scores.stage ELSE 'harness' END AS stage,
  CASE
    WHEN scores.seq IS NOT NULL THEN scores.reason
    WHEN asked.seq IS NULL THEN 'not_asked'
    WHEN told.seq IS NULL THEN 'fate_unknown'
    ELSE 'internal'
  END AS reason,
  CASE WHEN scores.seq IS NOT NULL THEN scores.domain ELSE 'harness' END AS domain,
  scores.value AS value,
  scores.metrics AS metrics,
  coalesce(scores.verdict, '') AS verdict,
  cell.body ->> '$.identity' AS identity,
  cell.seq AS seq,
  scores.seq AS score
FROM planned_cells AS counted
CROSS JOIN events AS cell ON cell.seq = counted.seq
JOIN run_rules ON run_rules.run = counted.run
LEFT JOIN last_scores AS scores ON scores.run = counted.run AND scores.cell = counted.cell
  AND scores.rules = run_rules.rules
LEFT JOIN events AS asked ON asked.seq = (
  SELECT max(seq) FROM events WHERE run = cell.run AND kind = 'request' AND cell = cell.cell)
LEFT JOIN events AS told ON told.seq = (
  SELECT max(edges.effect) FROM edges CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE edges.cause = asked.seq AND effect.kind IN ('response', 'fault'))
WHERE counted.counts;
