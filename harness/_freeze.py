"""Freezing: the files that an experiment stands on go into the ledger before anything is asked.

A file that is frozen already, under the same name and digest, is not frozen again: its first freeze is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness._identity import digest, file_digest
from harness._rules import RuleSet
from harness._suite import Fixture, Suite
from ledger import Draft, Ledger
from ledger.kinds import Freeze

__all__ = [
    "Frozen",
    "freeze_foreign",
    "freeze_prices",
    "freeze_rules",
    "freeze_suite",
    "standing_rules",
    "unfrozen_bytes",
]

# One whose file was withheld is passed over: a new run must not stand on what nobody can read.
_FIND = (
    "SELECT seq FROM main.events WHERE kind = 'freeze' AND body ->> '$.what' = ?"
    " AND body ->> '$.name' = ? AND body ->> '$.identity' = ?"
    " AND NOT EXISTS (SELECT 1 FROM main.blobs WHERE blobs.seq = events.seq AND blobs.data IS NULL)"
    " ORDER BY seq"
)


@dataclass(frozen=True)
class Frozen:
    """The seqs of the freezes that a plan stands on: prompts by digest, fixtures by name, rule sets by label.

    `prices` is the freeze of the price list, None without one. `new` counts those that were made just now.
    """

    prompts: Mapping[str, int]
    fixtures: Mapping[str, int]
    rules: Mapping[str, int]
    new: int
    prices: int | None = None


def _fixture_draft(fixture: Fixture, key: bytes, jsonl: bytes | None = None) -> Draft:
    cases = "".join(
        json.dumps(
            {
                "id": case.id,
                "line": case.line,
                "input": digest(case.input_text, key),
                "gold": digest(case.gold_text, key),
            }
        )
        + "\n"
        for case in fixture.cases
    )
    body = Freeze(
        what="fixture", name=f"{fixture.suite}/{fixture.name}", digest=fixture.digest, identity=fixture.digest
    )
    ours = {} if jsonl is None else {"jsonl": jsonl}
    return Draft(body, blobs={"file": fixture.file, "cases": cases.encode(), **ours})


def _rules_draft(rules: RuleSet) -> Draft:
    sources = {name: file_digest(source) for name, source in rules.sources.items()}
    body = Freeze(what="rules", name=rules.name, digest=rules.file_digest, identity=rules.digest, sources=sources)
    text = {name: source.decode("utf-8") for name, source in rules.sources.items()}
    return Draft(body, blobs={"file": rules.file, "sources": json.dumps(text, sort_keys=True).encode()})


def _prompt_draft(suite: Suite, name: str, prompt: bytes) -> Draft:
    found = file_digest(prompt)
    body = Freeze(what="prompt", name=f"{suite.name}/{name or suite.prompt_name}", digest=found, identity=found)
    return Draft(body, blobs={"file": prompt})


def freeze_suite(
    ledger: Ledger,
    suite: Suite,
    fixtures: Sequence[Fixture],
    rules: Sequence[RuleSet],
    prompts: Mapping[bytes, str] | Sequence[bytes] = (),
) -> Frozen:
    """Freeze prompts, fixtures and rule sets, each unless it stands frozen already; all in one append.

    `prompts` are the templates that the candidates use, when they aren't the suite's own (a replay's may be older),
    with the name of each where it has one of its own.
    """
    key = bytes.fromhex(ledger.genesis.identity_key)
    templates = dict(prompts) if isinstance(prompts, Mapping) else dict.fromkeys(prompts, "")
    templates = templates or {suite.prompt_file: ""}
    drafts = _suite_drafts(key, suite, fixtures, rules, templates)
    settled, new = _freeze(ledger, drafts)
    first_fixture, first_rules = len(templates), len(templates) + len(fixtures)
    return Frozen(
        prompts={file_digest(each): seq for each, seq in zip(templates, settled, strict=False)},
        fixtures={each.name: seq for each, seq in zip(fixtures, settled[first_fixture:first_rules], strict=True)},
        rules={each.label: seq for each, seq in zip(rules, settled[first_rules:], strict=True)},
        new=new,
    )


def unfrozen_bytes(
    ledger: Ledger | None, suite: Suite, fixtures: Sequence[Fixture], rules: Sequence[RuleSet], prompts: Sequence[bytes]
) -> int:
    """The bytes of what `freeze_suite` would write down: of everything, without a ledger. Writes nothing."""
    key = bytes.fromhex(ledger.genesis.identity_key) if ledger is not None else bytes(32)
    drafts = _suite_drafts(key, suite, fixtures, rules, dict.fromkeys(prompts, ""))
    fresh = [each for each in drafts if ledger is None or _standing(ledger, each) is None]
    return sum(len(blob) for each in fresh for blob in each.blobs.values())


def _suite_drafts(
    key: bytes, suite: Suite, fixtures: Sequence[Fixture], rules: Sequence[RuleSet], templates: Mapping[bytes, str]
) -> list[Draft]:
    return [
        *(_prompt_draft(suite, name, template) for template, name in templates.items()),
        *(_fixture_draft(fixture, key) for fixture in fixtures),
        *(_rules_draft(each) for each in rules),
    ]


def freeze_foreign(ledger: Ledger, fixture: Fixture, jsonl: bytes | None, rules: Sequence[RuleSet]) -> Frozen:
    """Freeze a fixture as it was found elsewhere, in whatever form, and the rule sets; all in one append.

    `jsonl` are its cases in the form of a cases.jsonl, which is what later scoring reads; None for a file that is one,
    whose freeze is then that of any run on it. Were they made of the same
    file in another way, that is another freeze.
    """
    key = bytes.fromhex(ledger.genesis.identity_key)
    drafts = [_fixture_draft(fixture, key, jsonl), *(_rules_draft(each) for each in rules)]
    settled, new = _freeze(ledger, drafts)
    labels = [each.label for each in rules]
    return Frozen({}, {fixture.name: settled[0]}, dict(zip(labels, settled[1:], strict=True)), new)


def freeze_rules(ledger: Ledger, rules: Sequence[RuleSet]) -> Frozen:
    """Freeze rule sets alone, each unless it stands frozen already; all in one append."""
    settled, new = _freeze(ledger, [_rules_draft(each) for each in rules])
    return Frozen({}, {}, dict(zip([each.label for each in rules], settled, strict=True)), new)


def freeze_prices(ledger: Ledger, name: str, file: bytes) -> int:
    """Freeze a price list, unless it stands frozen already; the seq of its freeze."""
    found = file_digest(file)
    body = Freeze(what="prices", name=name, digest=found, identity=found)
    (seq,), _ = _freeze(ledger, [Draft(body, blobs={"file": file})])
    return seq


def standing_rules(ledger: Ledger, rules: Sequence[RuleSet]) -> dict[str, int]:
    """The freezes of those rule sets that stand frozen already, by label. Writes nothing."""
    found = {each.label: _standing(ledger, _rules_draft(each)) for each in rules}
    return {label: seq for label, seq in found.items() if seq is not None}


def _freeze(ledger: Ledger, drafts: Sequence[Draft]) -> tuple[list[int], int]:
    """The seq of each draft's freeze, those that don't stand yet appended at once, and how many these were."""
    seqs = [_standing(ledger, draft) for draft in drafts]
    fresh = [draft for draft, seq in zip(drafts, seqs, strict=True) if seq is None]
    made = iter(ledger.append(*fresh) if fresh else ())
    return [next(made).seq if seq is None else seq for seq in seqs], len(fresh)


def _standing(ledger: Ledger, draft: Draft) -> int | None:
    """The first freeze of the same thing that can still be read."""
    body = draft.body
    assert isinstance(body, Freeze)
    for row in ledger.rows(_FIND, (body.what, body.name, body.identity)):
        seq = int(row["seq"])
        if "jsonl" not in draft.blobs or _same_cases(ledger, seq, draft.blobs["jsonl"]):
            return seq
    return None


def _same_cases(ledger: Ledger, seq: int, jsonl: bytes) -> bool:
    return "jsonl" in ledger.body(seq).blobs and ledger.blob(seq, "jsonl") == jsonl
