-- Promises: what rests on a run that was superseded, beside that run itself: a judge's run that graded its answers (`rules`
-- is NULL, which stands for every rule set), and the rule sets of a run under which a superseded judge's grades joined it.
-- `superseded` is that run. A run whose answers were taken over says so in its events, and isn't among these.

CREATE VIEW resting_on_superseded AS
SELECT plan.run AS run, NULL AS rules, gone.id AS superseded
FROM supersessions AS gone
CROSS JOIN events AS plan ON plan.kind = 'plan'
CROSS JOIN json_each(plan.body, '$.grades') AS graded ON graded.value = gone.id
WHERE gone.in_force AND gone.what = 'run'
UNION
SELECT joins.run, joins.rules, gone.id
FROM supersessions AS gone
CROSS JOIN joins ON joins.judge_run = gone.id
WHERE gone.in_force AND gone.what = 'run';
