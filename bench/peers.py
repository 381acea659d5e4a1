"""What verifying costs here, beside other people's tamper-evident stores on the same entries.

    python bench/peers.py [--peers PYTHON] [RECORDS]

PYTHON is the interpreter of a throw-away venv that has the peers (`pip install auditchain receipt-kernel pymerkle
eventsourcing`); they are no requirement of this project, and one that can't be imported is passed over and named. Each
store is a file on disk that its own code made; each check is a process of its own that opens the file and runs what the
store calls verifying. Figures are CPU seconds after the imports and the peak of resident memory, medians of the rounds.

They don't all do the same. auditchain and receipt-kernel check one chain of SHA-256 over JSON that they write anew;
auditchain works out a Merkle root as well. Ours checks the chain over stored bytes, every salted body and its RFC 8785
form, edges, schema, guards and SQLite's own integrity, and with a checkpoint the tree too. pymerkle and ours make the
same root of the same lines. eventsourcing has no hashes: reading and decoding everything is all there is to compare.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

ROUNDS = 3
MISSING = 77
SEED = bytes(range(32))
ED25519 = "cryptography.hazmat.primitives.asymmetric.ed25519"


def entries(count: int) -> Iterator[dict[str, Any]]:
    """The same records for everybody: who did what to what, and some figures, about 250 bytes of JSON."""
    for at in range(count):
        yield {
            "actor": f"candidate-{at % 7}",
            "action": ("request", "response", "parse", "score")[at % 4],
            "subject": f"case-{at // 4:06d}",
            "metadata": {
                "attempt": at % 3, "outcome": "correct" if at % 5 else "incorrect", "model": "m-2026-11",
                "usage": {"input": 300, "output": 40}, "span": "from Monday on, ask the desk lead instead",
                "digest": f"{at:032x}",
            },
        }  # fmt: skip


def batches(count: int, size: int = 500) -> Iterator[list[dict[str, Any]]]:
    """The records, some at a time."""
    every = entries(count)
    while some := list(islice(every, size)):
        yield some


def packed(entry: dict[str, Any]) -> str:
    """A record as compact JSON."""
    return json.dumps(entry, separators=(",", ":"))


class Ours:
    """ledger verify"""

    needs = ("ledger._verify", "ledger._verify_outside", "ledger.kinds", "ledger.tree", ED25519)

    def make(self, path: Path, count: int) -> None:
        """Notes that hold the records, and a checkpoint of them."""
        from ledger import Draft, Ledger
        from ledger.checkpoints import make_checkpoint
        from ledger.kinds import Genesis, Note
        from ledger.tree import SigningKey

        with Ledger.create(path) as ledger:
            for some in batches(count):
                ledger.append(*(Draft(Note(text=packed(entry))) for entry in some))
            genesis = ledger.body(ledger.event(1))
            assert isinstance(genesis, Genesis)
        made = make_checkpoint(path, SigningKey(f"{genesis.origin}/{genesis.id}", SEED))
        made.path.parent.rename(path.with_suffix(".aside"))

    def check(self, path: Path, count: int) -> None:
        """Nothing outside the file is looked at."""
        from ledger import verify

        assert verify(path).verdict == "CONSISTENT"


class OursWithCheckpoint(Ours):
    """ledger verify --checkpoint --key"""

    def check(self, path: Path, count: int) -> None:
        """The tree too, and the signature."""
        from ledger import Outside, verify
        from ledger.tree import SigningKey, parse_checkpoint

        (note,) = path.with_suffix(".aside").glob("*.checkpoint")
        key = SigningKey(parse_checkpoint(note.read_bytes()).checkpoint.origin, SEED).verifier
        seen = verify(path, Outside(checkpoints=(note,), keys=(key,), beside=False))
        assert seen.verdict == "MATCHES CHECKPOINT" and not seen.failures, seen


class Auditchain:
    """auditchain 0.3, SqliteBackend: verify()"""

    needs = ("auditchain",)

    def _log(self, path: Path) -> Any:
        module = importlib.import_module("auditchain")
        return module.SyncAuditLog(module.SqliteBackend(str(path)))

    def make(self, path: Path, count: int) -> None:
        """Many at a time."""
        log = self._log(path)
        for some in batches(count):
            log.append_many([(each["actor"], each["action"], each["subject"], each["metadata"]) for each in some])
        log.close()

    def check(self, path: Path, count: int) -> None:
        """The whole chain."""
        report = self._log(path).verify()
        assert report.ok and report.records_checked == count, report


class ReceiptKernel:
    """receipt-kernel 0.1: ledger.chain_valid"""

    needs = ("receipt_kernel.store_sqlite", "receipt_kernel.invariants.ledger_chain_valid")

    def _store(self, path: Path) -> Any:
        return importlib.import_module("receipt_kernel.store_sqlite").SqliteReceiptStore(str(path))

    def make(self, path: Path, count: int) -> None:
        """One commit a record, which is how it appends; without waiting for the disk."""
        envelope = importlib.import_module("receipt_kernel.envelope")
        store = self._store(path)
        store.initialize_schema()
        store._conn.execute("PRAGMA synchronous=OFF")
        store.ensure_run("run-1", policy_id="p", policy_version="1", stage_graph_id="g")
        kind = sorted(importlib.import_module("receipt_kernel.types").VALID_EVENT_TYPES)[0]
        for entry in entries(count):
            made = envelope.make_envelope(
                event_type=kind, stage="START", actor_kind="system", actor_id=entry["actor"], policy_id="p",
                policy_version="1", stage_graph_id="g", payload=entry,
            )  # fmt: skip
            store.append_event("run-1", made)
        store.close()

    def check(self, path: Path, count: int) -> None:
        """The chain of the run."""
        module = importlib.import_module("receipt_kernel.invariants.ledger_chain_valid")
        result = module.LedgerChainValidInvariant().evaluate({"store": self._store(path), "run_id": "run-1"})
        assert result.verdict.name == "PASS" and result.meta["event_count"] == count, result


class Eventsourcing:
    """eventsourcing 9.5, SQLite: reads and decodes all"""

    needs = ("eventsourcing.sqlite", "eventsourcing.persistence")

    def _open(self, path: Path) -> tuple[Any, Any]:
        sqlite = importlib.import_module("eventsourcing.sqlite")
        persistence = importlib.import_module("eventsourcing.persistence")
        recorder = sqlite.SQLiteApplicationRecorder(sqlite.SQLiteDatastore(str(path)))
        recorder.create_table()
        return recorder, persistence

    def make(self, path: Path, count: int) -> None:
        """Stored events of one aggregate."""
        uuid = importlib.import_module("uuid")
        recorder, persistence = self._open(path)
        version = 0
        for some in batches(count):
            stored = []
            for entry in some:
                version += 1
                stored.append(persistence.StoredEvent(uuid.UUID(int=1), version, "entry", packed(entry).encode()))
            recorder.insert_events(stored)

    def check(self, path: Path, count: int) -> None:
        """There is nothing to verify; every notification is read and its JSON decoded."""
        recorder, _ = self._open(path)
        seen = start = 0
        while some := recorder.select_notifications(start=start + 1, limit=1000):
            seen, start = seen + sum("actor" in json.loads(each.state) for each in some), some[-1].id
        assert seen == count, seen


class OurTree:
    """ledger.tree: root of the lines"""

    needs = ("ledger.tree",)

    def make(self, path: Path, count: int) -> None:
        """A line a record."""
        path.write_text("".join(f"{packed(entry)}\n" for entry in entries(count)))

    def check(self, path: Path, count: int) -> str:
        """One proof is made and checked as well."""
        from ledger.tree import Tree, check_inclusion, leaf_hash

        with path.open("rb") as file:
            tree = Tree(leaf_hash(line[:-1]) for line in file)
        leaf = leaf_hash(packed(next(islice(entries(count), 77, None))).encode())
        check_inclusion(leaf, 77, count, tree.inclusion(77), tree.root())
        return tree.root().hex()


class Pymerkle(OurTree):
    """pymerkle 7, InmemoryTree: root of the lines"""

    needs = ("pymerkle",)

    def check(self, path: Path, count: int) -> str:
        """One proof is made and checked as well."""
        pymerkle = importlib.import_module("pymerkle")
        tree = pymerkle.InmemoryTree(algorithm="sha256")
        with path.open("rb") as file:
            for line in file:
                tree.append_entry(line[:-1])
        root = tree.get_root()
        pymerkle.verify_inclusion(tree.get_leaf(78), root, tree.prove_inclusion(78))
        return root.hex()


CHAINS = (Ours, OursWithCheckpoint, Auditchain, ReceiptKernel, Eventsourcing)
TREES = (OurTree, Pymerkle)


def peak() -> float:
    """The peak of this process's own resident memory in MiB; ru_maxrss would count the parent's before exec."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def one(name: str, step: str, path: Path, count: int) -> None:
    """In a process of its own: make the store, or check it and print what that took."""
    (peer,) = [each() for each in (*CHAINS, *TREES) if each.__name__ == name]
    try:
        for module in peer.needs:
            importlib.import_module(module)
    except ImportError:
        sys.exit(MISSING)
    if step == "make":
        peer.make(path, count)
        return
    start, wall = time.process_time(), time.perf_counter()
    said = peer.check(path, count)
    taken = time.process_time() - start
    print(json.dumps({"cpu": taken, "wall": time.perf_counter() - wall, "peak": peak(), "said": said}))


def run(python: str, peer: type, step: str, path: Path, count: int) -> dict[str, Any] | None:
    """One such process; None if the peer can't be imported."""
    command = [python, str(Path(__file__).resolve()), "--one", peer.__name__, step, str(path), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    if done.returncode == MISSING:
        return None
    if done.returncode:
        sys.exit(f"{peer.__name__} {step}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout else {}


def compare(title: str, peers: tuple[type, ...], python: str, count: int, folder: Path) -> None:
    """Make each store, then check them in turn, so that a busy machine is busy for all."""
    made: dict[type, Path] = {}
    for peer in peers:
        path = made[Ours] if peer is OursWithCheckpoint else folder / f"{peer.__name__}.db"
        own = sys.executable if peer.needs[0].startswith("ledger") else python
        if peer is OursWithCheckpoint or run(own, peer, "make", path, count) is not None:
            made[peer] = path
        else:
            print(f"{peer.needs[0]} can't be imported by {Path(python).name}: passed over (see --peers)")
    rounds: dict[type, list[dict[str, Any]]] = {peer: [] for peer in made}
    for _ in range(ROUNDS):
        for peer, path in made.items():
            seen = run(sys.executable if peer.needs[0].startswith("ledger") else python, peer, "check", path, count)
            assert seen
            rounds[peer].append(seen)
    assert len({each["said"] for seen in rounds.values() for each in seen}) == 1, "not the same root"
    print(f"{title}, {count} records")
    first = None
    for peer, seen in rounds.items():
        cpu, wall, most = (statistics.median(each[key] for each in seen) for key in ("cpu", "wall", "peak"))
        first = first or (cpu, most)
        assert peer.__doc__
        words = f"  {peer.__doc__:52} {cpu:6.2f} s CPU {wall:6.2f} s {most:6.0f} MiB"
        print(f"{words}   {cpu / first[0]:5.2f} x time {most / first[1]:5.2f} x memory")


def main() -> None:
    parser = argparse.ArgumentParser(description="Verifying, beside other stores.")
    parser.add_argument("records", type=int, nargs="?", default=100_000)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter of a venv that has the peers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare("Verifying a store", CHAINS, given.peers, given.records, Path(folder))
        compare("A Merkle root and a proof", TREES, given.peers, given.records, Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:4], Path(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
