"""Events/s verified, against a bare loop that only scans the same rows and BLAKE3s the same bytes; what a checkpoint
(the tree over all lines) adds to it, and what `--since` takes off where nine tenths of the events are signed.

The ledger is made by our own append, 100 a commit: for each cell a request (with a blob), a response and a parse, with
bodies of about 300 bytes. Both sides run in this one process, in turn; each figure is the median of its rounds, in
seconds of CPU, so that "a core" means one. Run with `python bench/verify.py [EVENTS]`.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from blake3 import blake3

from ledger import Draft, Earlier, Ledger, Outside, new_run_id, verify
from ledger._export import export_lines
from ledger.checkpoints._files import checkpoint_folder, note_path, peaks_path
from ledger.checkpoints._peaks import peaks_text
from ledger.kinds import Parse, Request, Response
from ledger.tree import Checkpoint, Peaks, SigningKey, leaf_hash

ROUNDS = 3
HEADERS = [("content-type", "application/json"), ("user-agent", "eval-ledger"), ("accept-encoding", "identity")]
VALUE = '{"relation":"supersedes","source":3,"target":1,"span":"from Monday on, ask the desk lead instead"}'


def make(path: Path, count: int) -> None:
    """A ledger of about `count` events."""
    run = new_run_id()
    with Ledger.create(path) as ledger:
        waiting: list[Draft] = []
        for cell in range(1, count // 3 + 1):
            first = len(waiting)
            waiting += [
                Draft(
                    Request(attempt=0, turn=0, method="POST", url="http://127.0.0.1:8080/v1/chat", headers=HEADERS),
                    run=run, cell=cell, blobs={"body": os.urandom(600)},
                ),
                Draft(
                    Response(attempt=0, turn=0, status=200, headers=HEADERS, whole=True, headers_ms=12, total_ms=40),
                    run=run, cell=cell, causes=[Earlier(first)],
                ),
                Draft(
                    Parse(
                        rules="strict-cite@0123456789ab", status="parsed", stage="", reason="", domain="", flags=[],
                        value=VALUE, span=[(0, 98)], usage={"input": 120, "output": 30}, stop="end", model="bench",
                    ),
                    run=run, cell=cell, causes=[Earlier(first + 1)],
                ),
            ]  # fmt: skip
            if len(waiting) >= 100:
                ledger.append(*waiting)
                waiting = []
        if waiting:
            ledger.append(*waiting)


def sign(path: Path, size: int) -> SigningKey:
    """Sign the first `size` events into the folder beside the ledger."""
    tree, before = Peaks(), Peaks()
    with Ledger.open(path, read_only=True) as ledger:
        name = f"{ledger.genesis.origin}/{ledger.genesis.id}"
        for line in islice(export_lines(ledger), size):
            before = Peaks(tree.size, tree.hashes) if tree.size == size - 1 else before
            tree.add(leaf_hash(line))
    key, note = SigningKey(name, bytes(32)), note_path(checkpoint_folder(path), size)
    note.parent.mkdir(exist_ok=True)
    note.write_bytes(bytes(key.sign(Checkpoint(name, size, tree.root()).text)))
    peaks_path(note).write_bytes(peaks_text(size, before))
    return key


def bare(path: Path) -> int:
    """Scan every row and hash every line, body and blob; compare nothing."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = bytes
    line = b'{"v":%d,"seq":%d,"prev":"%b","at":"%b","kind":"%b","run":"%b","cell":%d,"causes":%b,"body":"%b"}'
    events = 0
    statement = "SELECT v, seq, prev, at, kind, run, cell, causes, body_hash, hash, salt, body FROM events ORDER BY seq"
    for row in connection.execute(statement):
        blake3(line % row[:9]).hexdigest()
        blake3(bytes.fromhex(row[10].decode()) + row[11]).hexdigest()
        events += 1
    for _, _, salt, data in connection.execute("SELECT hash, seq, salt, data FROM blobs ORDER BY id"):
        blake3(bytes.fromhex(salt.decode()) + data).hexdigest()
    connection.close()
    return events


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        make(path, count)
        checked, scanned, signed, since = [], [], [], []
        events = body = 0
        for _ in range(ROUNDS):
            start = time.process_time()
            events = bare(path)
            scanned.append(events / (time.process_time() - start))
            key = sign(path, events)
            sign(path, events * 9 // 10)
            last, most = (note_path(checkpoint_folder(path), size) for size in (events, events * 9 // 10))
            outsides = (
                (checked, "CONSISTENT", Outside(beside=False)),
                (signed, "MATCHES CHECKPOINT", Outside(checkpoints=(last,), keys=(key.verifier,), beside=False)),
                (since, "MATCHES CHECKPOINT", Outside(keys=(key.verifier,), since=most, beside=False)),
            )
            for rates, word, outside in outsides:
                start = time.process_time()
                verdict = verify(path, outside)
                rates.append(events / (time.process_time() - start))
                assert (verdict.verdict, verdict.ok, verdict.events) == (word, True, events), verdict
        reader = sqlite3.connect(path)
        (body,) = reader.execute("SELECT avg(length(body)) FROM events").fetchone()
        reader.close()
    ours, loop, tree, after = (statistics.median(rates) for rates in (checked, scanned, signed, since))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{events} events, bodies of {body:.0f} bytes on average, a blob for every third")
    print(f"verify, every check on      {ours:10,.0f} events/s a core")
    more = (1 / tree - 1 / ours) * 1e6
    print(f"  and a checkpoint of it all  {tree:8,.0f} events/s a core ({more:.2f} us an event more)")
    print(f"  --since nine tenths of it   {after:8,.0f} events/s a core, counting all")
    print(f"bare scan-and-BLAKE3 loop   {loop:10,.0f} events/s a core")
    print(f"ratio                       {loop / ours:10.2f} times the loop's time (peak memory {peak:.0f} MiB)")


if __name__ == "__main__":
    main()
