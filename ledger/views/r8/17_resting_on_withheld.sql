-- Promises: every event that rests on something withheld, each once, the events concerned included. It follows the edges
-- forward, and from a score to the tallies that counted it, and so to reports and to whom they went; a withheld rule set
-- reaches the readings under it, not all of the plans that name it. What merely speaks of an event, or came after it, doesn't rest on it.

CREATE VIEW resting_on_withheld AS
WITH RECURSIVE resting(seq, kind, run, cell) AS (
  SELECT target.seq, target.kind, target.run, target.cell
  FROM withheld
  CROSS JOIN events AS target ON target.seq = withheld.seq
  UNION
  SELECT effect.seq, effect.kind, effect.run, effect.cell
  FROM resting
  CROSS JOIN edges ON edges.cause = resting.seq
  CROSS JOIN events AS effect ON effect.seq = edges.effect
  WHERE effect.kind NOT IN ('schema', 'wait', 'accept', 'supersede', 'taint', 'clear', 'redact', 'note', 'anchor')
    AND NOT (effect.kind = 'plan' AND resting.kind = 'freeze'
      AND (SELECT body ->> '$.what' FROM events WHERE seq = resting.seq) = 'rules')
  UNION
  SELECT tally.seq, tally.kind, tally.run, tally.cell
  FROM resting
  CROSS JOIN events AS score ON score.seq = resting.seq
  CROSS JOIN events AS tally ON tally.run = resting.run AND tally.kind = 'tally'
  WHERE resting.kind = 'score' AND tally.seq > resting.seq AND tally.body ->> '$.rules' = score.body ->> '$.rules'
  UNION
  -- A report that names no tally and no score among its causes rests on all of the run that it speaks of.
  SELECT report.seq, report.kind, report.run, report.cell
  FROM resting
  CROSS JOIN events AS report ON report.kind = 'report'
  WHERE resting.kind = 'tally' AND report.body ->> '$.run' = resting.run AND report.seq > resting.seq
    AND NOT EXISTS (
      SELECT 1 FROM json_each(report.causes) AS cause
      CROSS JOIN events AS rested ON rested.seq = cause.value
      WHERE rested.kind IN ('tally', 'score'))
  UNION
  SELECT publish.seq, publish.kind, publish.run, publish.cell
  FROM resting
  CROSS JOIN events AS publish ON publish.kind = 'publish'
  WHERE resting.kind = 'report' AND publish.body ->> '$.report' = resting.seq
)
SELECT seq, kind, run, cell FROM resting;
