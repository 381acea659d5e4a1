-- Promises: nothing but speed; dropping these changes no answer.

CREATE INDEX events_by_kind ON events (kind);

CREATE INDEX events_by_run ON events (run, kind, cell);

CREATE INDEX blobs_by_seq ON blobs (seq);

