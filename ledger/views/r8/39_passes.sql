-- Promises: for each run, candidate, rule set and k from 1 to the most answers that any of its cases has: pass@k and pass^k,
-- each the mean over the cases with at least k measured answers (`cases`); `left_out` are the cases with fewer. `pass_at` is
-- how likely one of k answers is right, 1 - C(n-c, k) / C(n, k) of a case with c right of n (Chen et al. 2021); `pass_hat`
-- how likely all of them are, C(c, k) / C(n, k). A case is one input, arm and twin; what is unmeasured is no answer, and no
-- failure. There is no row of a rule set that grades any answer of the run: a grade is neither right nor wrong.

CREATE VIEW passes AS
SELECT
  plan.run AS run,
  counted.value ->> 0 AS candidate,
  counted.value ->> 1 AS rules,
  counted.value ->> 2 AS k,
  counted.value ->> 3 AS cases,
  counted.value ->> 4 AS left_out,
  counted.value ->> 5 AS pass_at,
  counted.value ->> 6 AS pass_hat
FROM events AS plan
CROSS JOIN json_each((
  WITH RECURSIVE samples AS (
    SELECT counted.candidate AS candidate, scores.rules AS rules, min(counted.cell) AS place,
      sum(scores.outcome IN ('correct', 'incorrect')) AS n, sum(scores.outcome = 'correct') AS c,
      sum(scores.outcome = 'graded') AS graded
    FROM planned_cells AS counted
    CROSS JOIN events AS cell ON cell.seq = counted.seq
    CROSS JOIN last_scores AS scores ON scores.run = counted.run AND scores.cell = counted.cell
    WHERE counted.run = plan.run AND counted.counts AND cell.body IS NOT NULL
    GROUP BY counted.candidate, scores.rules, cell.body ->> '$.input', cell.body ->> '$.arm', cell.body ->> '$.twin'
  ),
  -- C(n-c, k) / C(n, k) and C(c, k) / C(n, k), each out of the one for k - 1.
  drawn(candidate, rules, place, n, c, k, none, every) AS (
    SELECT candidate, rules, place, n, c, 1, 1.0 * (n - c) / n, 1.0 * c / n FROM samples WHERE n > 0
    UNION ALL
    SELECT candidate, rules, place, n, c, k + 1, none * max(0, n - c - k) / (n - k), every * max(0, c - k) / (n - k)
    FROM drawn WHERE k < n
  )
  SELECT json_group_array(json_array(candidate, rules, k, cases, every - cases, pass_at, pass_hat))
  FROM (
    SELECT drawn.candidate AS candidate, drawn.rules AS rules, k, count(*) AS cases, whole.cases AS every,
      1.0 - avg(none) AS pass_at, avg(drawn.every) AS pass_hat
    FROM drawn
    JOIN (
      SELECT candidate, rules, count(*) AS cases, sum(graded) AS graded FROM samples GROUP BY 1, 2
    ) AS whole ON whole.candidate = drawn.candidate AND whole.rules = drawn.rules
    WHERE NOT whole.graded
    GROUP BY drawn.candidate, drawn.rules, k
    ORDER BY drawn.rules, drawn.candidate, k
  ))) AS counted
WHERE plan.kind = 'plan';
