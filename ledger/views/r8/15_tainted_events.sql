-- Promises: every event that rests on what a taint in force speaks of, once for each taint. It follows the edges
-- forward, and what stands in bodies where an edge would say too much or too little: from a frozen fixture, prompt or
-- rule set only to the cells and readings that used it (a plan names all of its freezes); from a score to the tallies
-- that counted it (a score's last say before the tally), and so to the reports that rest on those; from a report to
-- whom it was published. A withheld cell can't say of which fixture it was, so it counts as one of each of its run.

CREATE VIEW tainted_events AS
WITH RECURSIVE rule_sets(taint, run, rules) AS (
  SELECT found.seq, run_rules.run, run_rules.rules
  FROM taints_in_force AS found
  CROSS JOIN run_rules ON (found.what = 'rules' AND run_rules.rules = found.id)
    OR (found.what = 'freeze' AND run_rules.freeze = CAST(found.id AS INTEGER))
  WHERE found.what IN ('rules', 'freeze')
),
whole_runs(taint, run) AS (
  SELECT seq, id FROM taints_in_force WHERE what = 'run'
  UNION
  SELECT found.seq, plan.run
  FROM taints_in_force AS found
  CROSS JOIN events AS plan ON plan.kind = 'plan'
  WHERE found.what = 'harness'
    AND (plan.body ->> '$.environment.eval-ledger' = found.id
      OR EXISTS (SELECT 1 FROM json_each(plan.body, '$.code') AS code WHERE code.value = found.id))
),
-- `whole` marks what needs no step from score to tally, because the tallies are seeds themselves: it only saves time.
seeds(taint, seq, whole) AS (
  SELECT seq, CAST(id AS INTEGER), what = 'freeze'
    AND EXISTS (SELECT 1 FROM events WHERE events.seq = CAST(id AS INTEGER) AND body ->> '$.what' = 'rules')
  FROM taints_in_force
  WHERE what IN ('event', 'freeze', 'report', 'supersession')
  UNION
  SELECT found.seq, blobs.seq, 0
  FROM taints_in_force AS found
  CROSS JOIN blobs ON blobs.hash = found.id
  WHERE found.what = 'blob'
  UNION
  SELECT found.seq, frozen.seq, 1
  FROM taints_in_force AS found
  CROSS JOIN events AS frozen ON frozen.kind = 'freeze'
  WHERE found.what = 'rules' AND frozen.body ->> '$.what' = 'rules'
    AND (frozen.body ->> '$.name') || '@' || substr(frozen.body ->> '$.identity', 1, 12) = found.id
  UNION
  SELECT rule_sets.taint, reading.seq, 1
  FROM rule_sets
  CROSS JOIN events AS reading ON reading.run = rule_sets.run AND reading.kind IN ('parse', 'confirm', 'score', 'tally')
  WHERE reading.body ->> '$.rules' = rule_sets.rules
  UNION
  SELECT found.seq, cell.seq, 0
  FROM taints_in_force AS found
  CROSS JOIN events AS plan ON plan.kind = 'plan'
  CROSS JOIN json_each(plan.body, '$.candidates') AS candidate
  CROSS JOIN cell_candidates AS cell ON cell.run = plan.run
  WHERE found.what = 'candidate' AND found.id IN (candidate.value ->> '$.label', candidate.value ->> '$.digest')
    AND cell.candidate = candidate.value ->> '$.label'
  UNION
  SELECT found.seq, parse.seq, 0
  FROM taints_in_force AS found
  CROSS JOIN events AS parse ON parse.kind = 'parse'
  WHERE found.what = 'model' AND parse.body ->> '$.model' = found.id
  UNION
  SELECT found.seq, response.seq, 0
  FROM taints_in_force AS found
  CROSS JOIN events AS parse ON parse.kind = 'parse'
  CROSS JOIN json_each(parse.causes) AS cause
  CROSS JOIN events AS response ON response.seq = cause.value
  WHERE found.what = 'model' AND parse.body ->> '$.model' = found.id AND response.kind = 'response'
),
reached(taint, seq, kind, run, cell, whole) AS (
  SELECT whole_runs.taint, within.seq, within.kind, within.run, within.cell, 1
  FROM whole_runs
  CROSS JOIN events AS within ON within.run = whole_runs.run
  UNION
  SELECT seeds.taint, found.seq, found.kind, found.run, found.cell, seeds.whole
  FROM seeds
  CROSS JOIN events AS found ON found.seq = seeds.seq
  UNION
  SELECT reached.taint, effect.seq, effect.kind, effect.run, effect.cell,
    CASE WHEN effect.run = reached.run OR reached.kind = 'freeze' THEN reached.whole ELSE 0 END
  FROM reached
  CROSS JOIN edges ON edges.cause = reached.seq
  CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE NOT (effect.kind = 'plan' AND reached.kind = 'freeze'
    AND (SELECT body ->> '$.what' FROM events WHERE seq = reached.seq) IN ('fixture', 'prompt', 'rules'))
  UNION
  SELECT reached.taint, cell.seq, cell.kind, cell.run, cell.cell, 0
  FROM reached
  CROSS JOIN events AS plan ON plan.kind = 'plan'
  CROSS JOIN json_each(plan.body, '$.fixtures') AS used
  CROSS JOIN events AS cell ON cell.run = plan.run AND cell.kind = 'cell'
  WHERE reached.kind = 'freeze' AND used.value ->> '$.freeze' = reached.seq
    AND (cell.body IS NULL OR cell.body ->> '$.fixture' = used.value ->> '$.name')
  UNION
  SELECT reached.taint, cell.seq, 'cell', cell.run, cell.cell, 0
  FROM reached
  CROSS JOIN events AS plan ON plan.kind = 'plan'
  CROSS JOIN json_each(plan.body, '$.candidates') AS used
  CROSS JOIN cell_candidates AS cell ON cell.run = plan.run
  WHERE reached.kind = 'freeze' AND used.value ->> '$.prompt_freeze' = reached.seq
    AND cell.candidate = used.value ->> '$.label'
  UNION
  SELECT reached.taint, tally.seq, tally.kind, tally.run, tally.cell, 0
  FROM reached
  CROSS JOIN events AS tally ON tally.run = reached.run AND tally.kind = 'tally'
  WHERE reached.kind = 'score' AND NOT reached.whole AND tally.seq > reached.seq
    AND reached.seq = (
      SELECT max(score.seq) FROM events AS score
      WHERE score.run = reached.run AND score.kind = 'score' AND score.cell = reached.cell AND score.seq < tally.seq
        AND score.body ->> '$.rules' = tally.body ->> '$.rules')
  UNION
  -- A report that names no tally and no score among its causes rests on all of the run that it speaks of.
  SELECT reached.taint, report.seq, report.kind, report.run, report.cell, 0
  FROM reached
  CROSS JOIN events AS report ON report.kind = 'report'
  WHERE reached.kind IN ('plan', 'tally') AND report.body ->> '$.run' = reached.run AND report.seq > reached.seq
    AND NOT EXISTS (
      SELECT 1 FROM json_each(report.causes) AS cause
      CROSS JOIN events AS rested ON rested.seq = cause.value
      WHERE rested.kind IN ('tally', 'score'))
  UNION
  SELECT reached.taint, publish.seq, publish.kind, publish.run, publish.cell, 0
  FROM reached
  CROSS JOIN events AS publish ON publish.kind = 'publish'
  WHERE reached.kind = 'report' AND publish.body ->> '$.report' = reached.seq
)
SELECT DISTINCT taint, seq, kind, run, cell FROM reached;
