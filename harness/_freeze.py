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

__all__ = ["Frozen", "freeze_suite"]

# One whose file was withheld is passed over: a new run must not stand on what nobody can read.
_FIND = (
    "SELECT min(seq) AS seq FROM main.events WHERE kind = 'freeze' AND body ->> '$.what' = ?"
    " AND body ->> '$.name' = ? AND body ->> '$.identity' = ?"
    " AND NOT EXISTS (SELECT 1 FROM main.blobs WHERE blobs.seq = events.seq AND blobs.data IS NULL)"
)


@dataclass(frozen=True)
class Frozen:
    """The seqs of the freezes that a plan stands on: prompts by digest, fixtures by name, rule sets by label.

    `new` counts those that were made just now.
    """

    prompts: Mapping[str, int]
    fixtures: Mapping[str, int]
    rules: Mapping[str, int]
    new: int


def _fixture_draft(fixture: Fixture, key: bytes) -> Draft:
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
    return Draft(body, blobs={"file": fixture.file, "cases": cases.encode()})


def _rules_draft(rules: RuleSet) -> Draft:
    sources = {name: file_digest(source) for name, source in rules.sources.items()}
    body = Freeze(what="rules", name=rules.name, digest=rules.file_digest, identity=rules.digest, sources=sources)
    text = {name: source.decode("utf-8") for name, source in rules.sources.items()}
    return Draft(body, blobs={"file": rules.file, "sources": json.dumps(text, sort_keys=True).encode()})


def _prompt_draft(suite: Suite, prompt: bytes) -> Draft:
    found = file_digest(prompt)
    body = Freeze(what="prompt", name=f"{suite.name}/{suite.prompt_name}", digest=found, identity=found)
    return Draft(body, blobs={"file": prompt})


def freeze_suite(
    ledger: Ledger,
    suite: Suite,
    fixtures: Sequence[Fixture],
    rules: Sequence[RuleSet],
    prompts: Sequence[bytes] = (),
) -> Frozen:
    """Freeze prompts, fixtures and rule sets, each unless it stands frozen already; all in one append.

    `prompts` are the templates that the candidates use, when they aren't the suite's own (a replay's may be older).
    """
    key = bytes.fromhex(ledger.genesis.identity_key)
    templates = list(dict.fromkeys(prompts or (suite.prompt_file,)))
    drafts = [
        *(_prompt_draft(suite, template) for template in templates),
        *(_fixture_draft(fixture, key) for fixture in fixtures),
        *(_rules_draft(each) for each in rules),
    ]
    seqs: list[int | None] = []
    for draft in drafts:
        body = draft.body
        assert isinstance(body, Freeze)
        seqs.append(ledger.rows(_FIND, (body.what, body.name, body.identity))[0]["seq"])
    fresh = [draft for draft, seq in zip(drafts, seqs, strict=True) if seq is None]
    made = iter(ledger.append(*fresh) if fresh else ())
    settled = [next(made).seq if seq is None else seq for seq in seqs]
    first_fixture, first_rules = len(templates), len(templates) + len(fixtures)
    return Frozen(
        prompts={file_digest(each): seq for each, seq in zip(templates, settled, strict=False)},
        fixtures={each.name: seq for each, seq in zip(fixtures, settled[first_fixture:first_rules], strict=True)},
        rules={each.label: seq for each, seq in zip(rules, settled[first_rules:], strict=True)},
        new=len(fresh),
    )
