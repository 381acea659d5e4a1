"""What checking an evidence bundle comes to: one verdict, one exit status, lines for people and JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ledger._screen import printable
from ledger.bundle._readme import spans
from ledger.bundle._rederived import Rederived

__all__ = ["BundleVerdict", "ClaimSeen", "Hidden", "many"]

_NO_KEY = "no key was given, so the signature is not checked, and nothing is proved"


def many(count: int, what: str) -> str:
    """A count with its noun: 1 run, 2 runs."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


@dataclass(frozen=True, slots=True)
class Hidden:
    """Bodies of one kind that aren't shown for one reason, and at which places of the order."""

    kind: str
    why: str
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClaimSeen:
    """A claim, and what its count came to."""

    run: str
    rules: str
    candidate: str
    metric: str
    kind: str
    k: int | None
    total: float | None
    n: int
    planned: int
    unmeasured: int
    status: Literal["proved", "proved in part", "false"]

    def as_json(self, *, signed: bool) -> dict[str, Any]:
        """The documented JSON form; without a signature nothing is proved."""
        return {
            "run": self.run, "rules": self.rules, "candidate": self.candidate, "metric": self.metric,
            "kind": self.kind, "k": self.k, "total": self.total, "n": self.n, "planned": self.planned,
            "unmeasured": self.unmeasured, "status": self.status if signed or self.status == "false" else "not proved",
        }  # fmt: skip


@dataclass(frozen=True)
class BundleVerdict:
    """What a bundle comes to. `problems` are false, `failures` were asked for and couldn't be had, `partly` is what is
    proved in part, `told` is the maker's word. `signed_by` are the given keys that signed its checkpoint."""

    path: str
    made_by: str
    origin: str = ""
    size: int = 0
    root: str = ""
    signed_by: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    problem_count: int = 0
    failures: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    hidden_blobs: int = 0
    timestamps: tuple[str, ...] = ()
    rederived: Rederived | None = None
    claims: tuple[ClaimSeen, ...] = ()

    @property
    def verdict(self) -> Literal["FALSE", "NOT PROVED", "PROVED IN PART", "PROVED"]:
        """NOT PROVED: nothing is false, and the signature wasn't checked, or something asked for couldn't be had."""
        if self.problem_count:
            return "FALSE"
        if self.failures or not self.signed_by:
            return "NOT PROVED"
        return "PROVED IN PART" if self.partly else "PROVED"

    @property
    def exit_status(self) -> int:
        """0 PROVED, 3 PROVED IN PART, 1 else."""
        return {"PROVED": 0, "PROVED IN PART": 3}.get(self.verdict, 1)

    @property
    def lines(self) -> tuple[str, ...]:
        """For people: the verdict, what it rests on, what it can't tell. One word of verdict a line."""
        count = f": {many(self.problem_count, 'thing')} said below" if self.problem_count else ""
        signed = f"signed by {', '.join(self.signed_by)}" if self.signed_by else (
            "whose signature is not checked: give --key, taken from elsewhere than the bundle"
        )  # fmt: skip
        found = [f"{self.verdict}{count}.", f"Evidence of {self.origin or 'no ledger that could be read'}."]
        if self.size:
            found.append(f"It rests on the checkpoint of {many(self.size, 'event')}, root {self.root}, {signed}.")
        found += [f"False: {each}" for each in self.problems]
        found += [f"Asked for, and not so: {each}" for each in self.failures]
        unsigned = "Would be proved by a signature"
        found += [f"{'Proved in part' if self.signed_by else f'{unsigned}, in part'}: {each}" for each in self.partly]
        found += [f"{'Proved' if self.signed_by else unsigned}: {each}" for each in self.proved]
        found += [f"Timestamped: {each}" for each in self.timestamps]
        if self.rederived is not None:
            found.append(_derived(self.rederived))
            found += [f"  {each}" for each in self.rederived.lines]
        found += [f"Told, not proved: {each}" for each in self.told]
        found += [f"Hidden: {len(each.seqs)} {each.kind} ({each.why}), at {spans(each.seqs)}" for each in self.hidden]
        if self.hidden_blobs:
            found.append(f"Hidden: {many(self.hidden_blobs, 'blob')} of events whose bodies are shown")
        found.append(
            "It can't tell what the ledger says after the checkpoint, nor whether the requests went where they say."
        )
        return tuple(printable(each) for each in dict.fromkeys(found))

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form. Without a signature that was checked, nothing stands under `proved`."""
        signed = bool(self.signed_by)
        return {
            "bundle": self.path, "verdict": self.verdict, "made_by": self.made_by, "origin": self.origin,
            "size": self.size, "root": self.root, "signed_by": list(self.signed_by),
            "problem_count": self.problem_count, "problems": list(self.problems),
            "failures": [*self.failures, *([] if signed or self.problem_count else [_NO_KEY])],
            "claims": [each.as_json(signed=signed) for each in self.claims],
            "proved": list(self.proved) if signed else [], "proved_in_part": list(self.partly) if signed else [],
            "unsigned": [] if signed else [*self.partly, *self.proved], "told": list(self.told),
            "hidden": [{"kind": each.kind, "why": each.why, "seqs": list(each.seqs)} for each in self.hidden],
            "hidden_blobs": self.hidden_blobs, "timestamps": list(self.timestamps),
            "rederived": self.rederived.as_json() if self.rederived is not None else None,
        }  # fmt: skip


def _derived(found: Rederived) -> str:
    rest = found.total - found.reproduced
    said = f"Derived again: {found.reproduced} of {found.total} derivations of the runs asked for"
    return f"{said}; the other {rest} are counted only" if rest else said
