-- Promises: an accident can't change history. Rows are only ever added at the end, in step with the chain; nothing is
-- updated or deleted, but for the one path of a redaction, which the newest event must have announced. INSERT OR
-- REPLACE walks past delete triggers, hence a BEFORE INSERT guard on every unique column. Guards stop accidents; the
-- chain, the schema comparison and integrity_check catch the rest.

CREATE TRIGGER events_insert BEFORE INSERT ON events
WHEN NEW.seq || NEW.prev IS NOT coalesce((SELECT (seq + 1) || hash FROM events ORDER BY seq DESC LIMIT 1),
  '10000000000000000000000000000000000000000000000000000000000000000')
BEGIN
  SELECT RAISE(ABORT, 'events: this seq is taken; events are never replaced')
    WHERE EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq);
  SELECT RAISE(ABORT, 'events: seq must follow the head')
    WHERE NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events);
  SELECT RAISE(ABORT, 'events: prev must be the hash of the head');
END;

CREATE TRIGGER events_edges AFTER INSERT ON events WHEN NEW.causes <> '[]' BEGIN
  INSERT INTO edges (cause, effect) SELECT value, NEW.seq FROM json_each(NEW.causes);
END;

CREATE TRIGGER events_update BEFORE UPDATE ON events BEGIN
  SELECT RAISE(ABORT, 'events: never updated, but for a redaction that the newest event announced')
    WHERE NOT (
      OLD.body IS NOT NULL AND NEW.body IS NULL AND NEW.salt IS NULL
      AND NEW.seq IS OLD.seq AND NEW.v IS OLD.v AND NEW.hash IS OLD.hash AND NEW.prev IS OLD.prev
      AND NEW.at IS OLD.at AND NEW.kind IS OLD.kind AND NEW.run IS OLD.run AND NEW.cell IS OLD.cell
      AND NEW.causes IS OLD.causes AND NEW.body_hash IS OLD.body_hash
      AND OLD.kind NOT IN ('genesis', 'schema', 'freeze', 'plan', 'score', 'tally', 'close', 'supersede', 'taint',
        'clear', 'redact', 'anchor')
      AND EXISTS (
        SELECT 1 FROM events AS head, json_each(head.body, '$.bodies') AS named
        WHERE head.seq = (SELECT max(seq) FROM events) AND head.kind = 'redact' AND named.value = OLD.seq)
    );
END;

CREATE TRIGGER events_delete BEFORE DELETE ON events BEGIN
  SELECT RAISE(ABORT, 'events: never deleted');
END;

CREATE TRIGGER blobs_insert BEFORE INSERT ON blobs
WHEN NEW.seq IS NOT (SELECT max(seq) FROM events)
  OR EXISTS (SELECT 1 FROM blobs WHERE hash = NEW.hash) OR EXISTS (SELECT 1 FROM blobs WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'blobs: a blob belongs to the newest event')
    WHERE NEW.seq IS NOT (SELECT max(seq) FROM events);
  SELECT RAISE(ABORT, 'blobs: this hash or id is taken; blobs are never replaced');
END;

CREATE TRIGGER blobs_update BEFORE UPDATE ON blobs BEGIN
  SELECT RAISE(ABORT, 'blobs: never updated, but for a redaction that the newest event announced')
    WHERE NOT (
      OLD.data IS NOT NULL AND NEW.data IS NULL AND NEW.salt IS NULL
      AND NEW.id IS OLD.id AND NEW.hash IS OLD.hash AND NEW.seq IS OLD.seq AND NEW.encoding IS OLD.encoding
      AND EXISTS (
        SELECT 1 FROM events AS head, json_each(head.body, '$.blobs_withheld') AS named
        WHERE head.seq = (SELECT max(seq) FROM events) AND head.kind = 'redact' AND named.value = OLD.hash)
    );
END;

CREATE TRIGGER blobs_delete BEFORE DELETE ON blobs BEGIN
  SELECT RAISE(ABORT, 'blobs: never deleted');
END;

CREATE TRIGGER edges_insert BEFORE INSERT ON edges BEGIN
  SELECT RAISE(ABORT, 'edges: derived from the causes of the newest event, and from nothing else')
    WHERE NEW.effect IS NOT (SELECT max(seq) FROM events)
      OR EXISTS (SELECT 1 FROM edges WHERE cause = NEW.cause AND effect = NEW.effect);
END;

CREATE TRIGGER edges_update BEFORE UPDATE ON edges BEGIN
  SELECT RAISE(ABORT, 'edges: never updated');
END;

CREATE TRIGGER edges_delete BEFORE DELETE ON edges BEGIN
  SELECT RAISE(ABORT, 'edges: never deleted');
END;
