-- Promises: how many answers run ?1 took over from which run. An answer of another ledger is of none.

SELECT origin.run AS run, count(*) AS answers
FROM main.events AS reuse
CROSS JOIN json_each(reuse.causes) AS cause
CROSS JOIN main.events AS origin ON origin.seq = cause.value
WHERE reuse.run = ?1 AND reuse.kind = 'reuse' AND origin.kind = 'response'
GROUP BY origin.run
