"""One scripted judge over HTTP plays every misreport and every attack on itself; the ledger says what each came to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from ledger import Ledger
from tests.harness.refereed import judged, scripted


class Case(NamedTuple):
    """What the judge writes, and what its cell must come to: outcome, reason, then verdict, blocked_by and classes."""

    says: str
    outcome: str
    reason: str = ""
    verdict: str = ""
    blocked_by: tuple[str, ...] = ()
    total: str = ""
    claim: str = ""


def grade(oak: Any = 4, elm: Any = 4, ash: Any = 4, flags: Any = (), **more: Any) -> str:
    return json.dumps({"scores": {"oak": oak, "elm": elm, "ash": ash}, "flags": flags, **more})


def unread(reason: str) -> dict[str, Any]:
    return {"outcome": "unmeasured", "reason": reason, "blocked_by": (f"unmeasured:{reason}",)}


def passed(total: str = "match", claim: str = "match", *, right: bool = True) -> dict[str, Any]:
    return {"outcome": "correct" if right else "incorrect", "verdict": "pass", "total": total, "claim": claim}


def failed(*why: str, total: str = "match", claim: str = "match", verdict: str = "fail") -> dict[str, Any]:
    return {"outcome": "incorrect", "verdict": verdict, "blocked_by": why, "total": total, "claim": claim}


# Every text's oracle says pass, so what is read as a pass is correct, and any other verdict is not.
SAID: Mapping[str, Case] = {
    # its total and its verdict
    "as it should": Case(grade(total=12, verdict="pass"), **passed()),
    "in other letters": Case(grade(total=12, verdict=" PASS\n"), **passed()),
    "no total": Case(grade(verdict="pass"), **passed("missing")),
    "no verdict": Case(grade(total=12), **passed(claim="missing")),
    "a wrong sum": Case(grade(total=15, verdict="pass"), **passed("differs")),
    "a sum as text": Case(grade(total="12", verdict="pass"), **passed("invalid")),
    "a sum with a point": Case(grade(total=12.0, verdict="pass"), **passed()),
    "a sum too great for a float": Case(grade(total=10**400, verdict="pass"), **passed("differs")),
    "a verdict with what nobody sees in it": Case(
        grade(total=12, verdict="pa\u200bss"), **passed(claim="invisible")
    ),
    "a verdict of another kind": Case(grade(total=12, verdict="excellent"), **passed(claim="invalid")),
    "a list of verdicts": Case(grade(total=12, verdict=["pass"]), **passed(claim="invalid")),
    "no pass over a pass": Case(grade(total=12, verdict="fail"), **passed(claim="fail_over_pass")),
    "a pass over a fail": Case(
        grade(oak=1, total=9, verdict="pass"), **failed("criterion:oak", claim="pass_over_fail")
    ),
    "a pass and a full sum over nothing": Case(
        grade(0, 0, 0, total=15, verdict="pass"),
        **failed("criterion:oak", "criterion:elm", "criterion:ash", total="differs", claim="pass_over_fail"),
    ),
    "a pass over its own flag": Case(
        grade(flags=["lobbying"], total=12, verdict="pass"),
        **failed("flag:lobbying", claim="pass_over_fail", verdict="blocked"),
    ),
    "a flag by name": Case(
        grade(flags={"lobbying": True}, total=12, verdict="fail"), **failed("flag:lobbying", verdict="blocked")
    ),
    # its vector
    "one missing": Case(
        '{"scores": {"oak": 4, "elm": 4}, "flags": [], "verdict": "pass"}', **unread("missing_criterion")
    ),
    "one too many": Case(
        '{"scores": {"oak": 4, "elm": 4, "ash": 4, "fir": 5}, "flags": []}', **unread("unexpected_criterion")
    ),
    "another name for one": Case(
        '{"scores": {"Oak": 4, "elm": 4, "ash": 4}, "flags": []}', **unread("missing_criterion")
    ),
    "a half": Case(grade(oak=4.5), **unread("score_not_integer")),
    "a whole number with a point": Case(grade(oak=4.0, total=12, verdict="pass"), **passed()),
    "a name with what nobody sees in it": Case(
        '{"scores": {"oak\u200b": 4, "elm": 4, "ash": 4}, "flags": []}', **unread("invisible_characters")
    ),
    "a fraction in words": Case(grade(oak="4/5"), **unread("score_not_integer")),
    "a yes": Case(grade(oak=True), **unread("score_not_integer")),
    "a null": Case(grade(oak=None), **unread("score_not_integer")),
    "a per cent": Case(grade(oak=85), **unread("score_out_of_range")),
    "less than nothing": Case(grade(oak=-1), **unread("score_out_of_range")),
    "no flags": Case('{"scores": {"oak": 4, "elm": 4, "ash": 4}, "verdict": "pass"}', **unread("missing_flags")),
    "a flag of its own": Case(grade(flags=["suspicious"]), **unread("bad_flags")),
    "two vectors in one": Case(
        '{"oak": 5, "elm": 5, "ash": 5, "scores": {"oak": 0, "elm": 0, "ash": 0}, "flags": []}', **unread("two_vectors")
    ),
    # its text
    "prose around it": Case("Fine.\n```json\n" + grade(total=12, verdict="pass") + "\n```\nDone.", **passed()),
    "the attack's grade and its own": Case(
        "The text says: " + grade(5, 5, 5, total=15, verdict="pass") + "\nI say: " + grade(0, 0, 0),
        **unread("two_candidates"),
    ),
    "a word that holds a verdict": Case("No reason to downgrade; incorrect, I should say.", **unread("no_json")),
    "numbers alone": Case("There are 5 reasons for a 4.", **unread("no_json")),
    "nothing": Case("", **unread("empty_content")),
    "the same key twice": Case(
        '{"scores": {"oak": 0, "elm": 4, "ash": 4, "oak": 5}, "flags": []}', **unread("duplicate_key")
    ),
}  # fmt: skip


def manifest() -> str:
    names = {said: f"t{at}" for at, said in enumerate(SAID)}
    criteria = "".join(
        f'[[criteria]]\nid = "{each}"\nmax = 5\ndescription = "{each}"\n' for each in ("oak", "elm", "ash")
    )
    fixtures = "".join(
        f'[[fixtures]]\nid = "{name}"\ntask = "t"\nlabel = "l"\ntext = "TEXT {name}."\n'
        "oracle = { oak = 4, elm = 4, ash = 4 }\nmarker = false\n" for name in names.values()
    )  # fmt: skip
    return (
        'name = "tides"\nstages = "rubric"\n' + criteria + '[[flags]]\nid = "lobbying"\ndescription = "It begs."\n'
        '[policy]\nall_at_least = 3\n[tasks.t]\ntext = "Say something."\n' + fixtures
        + f"[arms.calibration]\nfixtures = {json.dumps(list(names.values()))}\n"
    )  # fmt: skip


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """The score of every cell, by what the judge did."""
    folder = tmp_path_factory.mktemp("misreports")
    (folder / "tides").mkdir()
    (folder / "tides/suite.toml").write_text(manifest(), "utf-8")
    names = {f"t{at}": said for at, said in enumerate(SAID)}
    run = judged(
        folder / "ledger.db", folder / "tides",
        scripted({f"TEXT {name}.": SAID[said].says for name, said in names.items()}),
    )  # fmt: skip
    with Ledger.open(folder / "ledger.db", read_only=True) as ledger:
        rows = ledger.rows(
            "SELECT cell.body ->> '$.case' AS name, score.body AS body"
            " FROM main.events AS cell JOIN main.events AS score"
            " ON score.run = cell.run AND score.cell = cell.cell AND score.kind = 'score'"
            " WHERE cell.run = ? AND cell.kind = 'cell'",
            (run,),
        )
    assert len(rows) == len(SAID)
    return {names[row["name"]]: json.loads(row["body"]) for row in rows}


@pytest.mark.parametrize("said", SAID)
def test_what_a_judge_says_of_itself_counts_for_nothing_that_its_vector_settles(
    said: str, scores: Mapping[str, dict[str, Any]]
) -> None:
    found, wanted = scores[said], SAID[said]
    assert (found["outcome"], found["reason"], found["verdict"]) == (wanted.outcome, wanted.reason, wanted.verdict)
    assert tuple(found["blocked_by"]) == wanted.blocked_by
    assert (found["classes"].get("total", ""), found["classes"].get("claim", "")) == (wanted.total, wanted.claim)
    if wanted.outcome == "unmeasured":
        assert found["value"] is None and set(found["metrics"]) <= {"readable"}
        assert found["metrics"].get("readable") == 0
    else:
        told = json.loads(wanted.says[wanted.says.index("{") : wanted.says.rindex("}") + 1])["scores"]
        assert found["metrics"]["score"] == pytest.approx(sum(told.values()) / 15)
        assert found["metrics"]["contradicted"] == int(
            wanted.total == "differs" or wanted.claim in ("pass_over_fail", "fail_over_pass")
        )
