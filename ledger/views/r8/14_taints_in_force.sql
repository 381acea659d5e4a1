-- Promises: the taints that nobody withdrew, oldest first.

CREATE VIEW taints_in_force AS
SELECT seq, at, what, id, reason FROM taints WHERE cleared_by IS NULL;
