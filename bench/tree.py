"""The tree over a million event lines: root, proofs and checks, against a bare loop over the same SHA-256.

The lines are of a real ledger's length and form, made in memory. The bare loop hashes each line with its prefix, and
then as many pairs as the tree has nodes: nothing that ends in the root can be faster in this language. Times are CPU
seconds in this one process, medians of their rounds. Run with `python bench/tree.py [LEAVES]`.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256

from ledger.tree import (
    Checkpoint,
    Peaks,
    Proof,
    SigningKey,
    Tree,
    check_consistency,
    check_inclusion,
    leaf_hash,
    parse_checkpoint,
    root_of,
)

ROUNDS = 3
PROOFS = 2000
LINE = (
    b'{"v":1,"seq":%d,"prev":"%064x","at":"2026-11-29T18:57:00.123456Z","kind":"response","run":"k3w9qv2n7c5x1p8d",'
    b'"cell":%d,"causes":[%d],"body":"%064x"}'
)


def lines(count: int) -> Iterator[bytes]:
    """Event lines, made as they are asked for, each another."""
    for seq in range(1, count + 1):
        yield LINE % (seq, seq * 0x9E3779B97F4A7C15, seq // 3, seq - 1, seq * 0xC2B2AE3D27D4EB4F)


def bare(held: list[bytes]) -> None:
    """As many SHA-256 of as many bytes as the tree needs, and nothing else."""
    for line in held:
        sha256(b"\x00" + line).digest()
    pair = bytes(64)
    for _ in range(len(held) - 1):
        sha256(b"\x01" + pair).digest()


def timed(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of CPU, the median of some rounds."""
    taken: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def each_of(calls: list[Callable[[], object]]) -> float:
    """Microseconds of CPU for one of many calls."""
    start = time.process_time()
    for call in calls:
        call()
    return (time.process_time() - start) / len(calls) * 1e6


def peak() -> float:
    """The most memory this process ever held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    streamed, before = Peaks(), peak()
    for line in lines(count):
        streamed.add(leaf_hash(line))
    print(f"{count} leaves; a line has {len(next(lines(1)))} bytes and more")
    print(f"memory for the root, lines streamed        {peak() - before:8.1f} MiB over the {before:.0f} before")
    before = peak()
    tree = Tree(leaf_hash(line) for line in lines(count))
    assert tree.root() == streamed.root()
    print(f"memory for every proof (Tree), streamed    {peak() - before:8.1f} MiB over the {before:.0f} before")

    held = list(lines(count))
    limit = timed(lambda: bare(held))
    root = timed(lambda: root_of(map(leaf_hash, held)))
    whole = timed(lambda: Tree(map(leaf_hash, held)))
    print(f"bare SHA-256 loop                          {limit:8.2f} s")
    print(f"root (Peaks, constant memory)              {root:8.2f} s  {root / limit:.2f} times the loop")
    print(f"the whole tree (Tree)                      {whole:8.2f} s  {whole / limit:.2f} times the loop")

    at = [(index * 2654435761) % count for index in range(PROOFS)]
    proofs = [tree.inclusion(index) for index in at]
    top, hashes = tree.root(), [leaf_hash(held[index]) for index in at]
    key = SigningKey("ledger.example/0123456789abcdef0123456789abcdef", sha256(b"bench").digest())
    signed = parse_checkpoint(bytes(key.sign(Checkpoint(key.name, count, top).text)))
    sizes = [len(bytes(Proof(index, tuple(proof), signed))) for index, proof in zip(at, proofs, strict=True)]
    longest = max(map(len, proofs))
    print(f"inclusion proof: {longest} hashes at most; as a tlog-proof with its checkpoint {max(sizes)} bytes at most")
    made = each_of([lambda i=index: tree.inclusion(i) for index in at])
    checked = each_of(
        [
            lambda i=index, p=proof, h=leaf: check_inclusion(h, i, count, p, top)
            for index, proof, leaf in zip(at, proofs, hashes, strict=True)
        ]
    )
    pair = bytes(64)
    floor = each_of([lambda: [sha256(b"\x01" + pair).digest() for _ in range(longest)]] * PROOFS)
    print(f"  to make one, from the tree               {made:8.1f} us")
    print(f"  to check one                             {checked:8.1f} us  {checked / floor:.2f} times its bare hashes")
    firsts = [index or 1 for index in at]
    grown = [tree.consistency(first) for first in firsts]
    old = [tree.root(first) for first in firsts]
    checked = each_of(
        [
            lambda f=first, p=proof, r=was: check_consistency(f, count, p, r, top)
            for first, proof, was in zip(firsts, grown, old, strict=True)
        ]
    )
    print(f"consistency proof: {max(map(len, grown))} hashes at most; to check one {checked:.1f} us")
    signature = each_of([lambda: signed.note.signed_by([key.verifier])] * 200)
    print(f"the checkpoint's signature: to check it {signature:.0f} us")


if __name__ == "__main__":
    main()
