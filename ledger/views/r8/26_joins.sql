-- Promises: which rule sets of a run are those of a judge whose grades joined it: `judge_run` is the run in which the judge
-- was asked. It follows from the causes of the joined tallies, which name the judge's own.

CREATE VIEW joins AS
SELECT DISTINCT
  tally.run AS run,
  tally.body ->> '$.rules' AS rules,
  judged.run AS judge_run
FROM events AS tally
CROSS JOIN json_each(tally.causes) AS cause
CROSS JOIN events AS judged ON judged.seq = cause.value AND judged.kind = 'tally' AND judged.run <> tally.run
WHERE tally.kind = 'tally';
