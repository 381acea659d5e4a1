"""The trees and proofs of RFC 6962 section 2.1, word for word and recursive: slow, short, and nothing of the package.

Sizes and roots of subtrees are remembered by their range, or all pairs up to 300 would take minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256

# The leaves that Certificate Transparency's own tests use, and the roots of the first 1 to 8 of them.
CT_LEAVES = [
    bytes.fromhex(each)
    for each in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
CT_ROOTS = [
    bytes.fromhex(each)
    for each in (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
]


class Naive:
    """The tree over `entries`; every answer is of the first `n` of them."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        self.entries = list(entries)
        self._mth = cache(self._mth_of)

    def root(self, n: int) -> bytes:
        return self._mth(0, n)

    def path(self, m: int, n: int) -> list[bytes]:
        """PATH(m, D[n]) of section 2.1.1."""
        return self._path(m, 0, n)

    def proof(self, m: int, n: int) -> list[bytes]:
        """PROOF(m, D[n]) of section 2.1.2, for 0 < m <= n."""
        return self._subproof(m, 0, n, True)

    def turns(self, m: int, n: int) -> list[str]:
        """On which side the siblings of leaf `m` stand, the leaf's own first."""
        start, end, found = 0, n, []
        while end - start > 1:
            k = split(end - start)
            found.append("right" if m < start + k else "left")
            start, end = (start, start + k) if m < start + k else (start + k, end)
        return found[::-1]

    def _mth_of(self, start: int, end: int) -> bytes:
        n = end - start
        if n == 0:
            return sha256().digest()
        if n == 1:
            return sha256(b"\x00" + self.entries[start]).digest()
        k = split(n)
        return sha256(b"\x01" + self._mth(start, start + k) + self._mth(start + k, end)).digest()

    def _path(self, m: int, start: int, end: int) -> list[bytes]:
        n = end - start
        if n == 1:
            return []
        k = split(n)
        if m < k:
            return [*self._path(m, start, start + k), self._mth(start + k, end)]
        return [*self._path(m - k, start + k, end), self._mth(start, start + k)]

    def _subproof(self, m: int, start: int, end: int, b: bool) -> list[bytes]:
        n = end - start
        if m == n:
            return [] if b else [self._mth(start, end)]
        k = split(n)
        if m <= k:
            return [*self._subproof(m, start, start + k, b), self._mth(start + k, end)]
        return [*self._subproof(m - k, start + k, end, False), self._mth(start, start + k)]


def split(n: int) -> int:
    """The largest power of two smaller than n."""
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mutated(proof: Sequence[bytes], *, every_bit: bool) -> list[list[bytes]]:
    """A proof, changed in every way there is: bits, hashes dropped, added, doubled, swapped, the order turned round."""
    found: list[list[bytes]] = []
    for at, each in enumerate(proof):
        for bit in range(256) if every_bit else (0, 7, 100, 255):
            flipped = bytearray(each)
            flipped[bit // 8] ^= 1 << bit % 8
            found.append([*proof[:at], bytes(flipped), *proof[at + 1 :]])
        found += [
            [*proof[:at], *proof[at + 1 :]],
            [*proof[:at], each, *proof[at:]],
            [*proof[:at], each[:-1], *proof[at + 1 :]],
            [*proof[:at], each + b"\x00", *proof[at + 1 :]],
        ]
    found += [[*proof[:at], proof[at + 1], proof[at], *proof[at + 2 :]] for at in range(len(proof) - 1)]
    found += [
        [*proof, bytes(32)],
        [bytes(32), *proof],
        [*proof, sha256().digest()],
        [*proof, *proof],
        list(proof[::-1]),
    ]
    return [each for each in found if each != list(proof)]
