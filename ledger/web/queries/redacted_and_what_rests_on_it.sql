-- Promises: every event of which something is withheld, with the redaction that says so and why; then every event that
-- rests on one of them, whose numbers nobody can derive again. Nothing is counted out: only what can be shown is less.

SELECT role, seq, kind, run, cell, redact, category, reason
FROM (
  SELECT 'withheld' AS role, seq, kind, run, cell, redact, category, reason FROM withheld
  UNION ALL
  SELECT 'rests on it', seq, kind, run, cell, NULL, NULL, NULL
  FROM resting_on_withheld WHERE seq NOT IN (SELECT seq FROM withheld)
)
ORDER BY role DESC, seq
