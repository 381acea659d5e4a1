-- Promises: the three tables of format 1. Facts stand in no other table. The text below is committed to by the
-- genesis event, so it never changes within the format.

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  v INTEGER NOT NULL,
  hash TEXT NOT NULL,
  prev TEXT NOT NULL,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  run TEXT NOT NULL,
  cell INTEGER NOT NULL,
  causes TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  salt TEXT,
  body TEXT
) STRICT;

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL,
  salt TEXT,
  encoding TEXT NOT NULL,
  data BLOB
) STRICT;

CREATE TABLE edges (
  cause INTEGER NOT NULL,
  effect INTEGER NOT NULL,
  PRIMARY KEY (cause, effect)
) STRICT, WITHOUT ROWID;
