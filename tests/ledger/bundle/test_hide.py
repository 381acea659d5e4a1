"""What is hidden isn't in the zip, can't be guessed from what is, and what it counts is proven all the same."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from ledger import Draft, kinds
from ledger._errors import Refused
from ledger.bundle._known import Known, known_texts
from ledger.bundle._reread import reread
from ledger.bundle._texts import HiddenTexts
from tests.ledger.bundle.bundled import GOLDS, PROMPTS, TEMPLATE, Bundled, bundled
from tests.ledger.bundle.edited import SCRIPT, alone
from tests.ledger.bundle.guessing import ATTACKS, guessed
from tests.ledger.bundle.opened import Opened, made

HELD = "hidden: holds hidden text"
SEED = "the auditor's"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def shown(ledger: Bundled) -> Opened:
    return made(ledger, name="shown.zip")


@pytest.fixture(scope="module")
def hidden(ledger: Bundled) -> Opened:
    return made(ledger, hide="prompts,gold", name="hidden.zip")


@pytest.fixture(scope="module")
def drawn(ledger: Bundled) -> Opened:
    return made(ledger, hide="prompts,gold", reveal=3, seed=SEED, name="drawn.zip")


def drawn_golds(bundle: Opened) -> set[str]:
    return {json.loads(row["line"])["gold"] for row in map(json.loads, bundle.members["cases.jsonl"].splitlines())}


# Each attack works where nothing is hidden, or it would show nothing. No body and no file holds a gold's plain digest.
@pytest.mark.parametrize("attack", sorted(set(ATTACKS) - {"plain"}))
def test_an_attacker_finds_golds_in_a_bundle_that_hides_nothing(attack: str, shown: Opened) -> None:
    found = guessed(attack, shown.everything)
    assert found
    assert found <= set(GOLDS)


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_no_attack_finds_a_gold_in_a_bundle_that_hides_them(attack: str, hidden: Opened) -> None:
    assert guessed(attack, hidden.everything) == set()


@pytest.mark.parametrize("attack", ["file", "keyed", "salted", "text"])
def test_with_a_drawn_one_only_drawn_golds_are_found_also_by_who_has_both_bundles(
    attack: str, hidden: Opened, drawn: Opened
) -> None:
    both = hidden.everything + b"\n" + drawn.everything
    assert guessed(attack, both) <= drawn_golds(drawn)
    assert len(drawn_golds(drawn)) < len(GOLDS) / 2


def test_hiding_gold_alone_gives_no_attack_a_gold(ledger: Bundled) -> None:
    bundle = made(ledger, hide="gold", name="gold.zip")
    assert {attack: guessed(attack, bundle.everything) for attack in ("file", "keyed", "text")} == {
        "file": set(), "keyed": set(), "text": set(),
    }  # fmt: skip


def test_no_byte_of_a_prompt_or_of_the_template_is_in_the_zip(hidden: Opened, shown: Opened) -> None:
    telling = [*(text[:20] for text in PROMPTS), "Zarquon", TEMPLATE[:24], "password of the guild"]
    spelled = [form for text in telling for form in (text.encode(), json.dumps(text)[1:-1].encode())]
    assert not [each for each in spelled if each in hidden.everything]
    assert all(json.dumps(text)[1:-1].encode() in shown.everything for text in PROMPTS)


def test_the_counts_are_proven_though_everything_else_is_hidden(hidden: Opened, ledger: Bundled) -> None:
    assert [(each["candidate"], each["k"], each["n"], each["planned"]) for each in hidden.bundle["claims"]] == [
        ("openai/first", 9, 11, 12), ("openai/second", 9, 11, 12),
    ]  # fmt: skip
    rows = [row for row in hidden.events.values() if (row["at"]["kind"], row["at"]["run"]) == ("score", ledger.run)]
    right = [row["at"]["cell"] for row in rows if json.loads(row["body"])["metrics"].get("correct")]
    assert (sum(cell <= 12 for cell in right), sum(cell > 12 for cell in right)) == (9, 9)
    assert hidden.members["verify.py"] == SCRIPT.read_bytes()
    checked = alone(hidden.path, ledger.key.verifier)
    assert checked.status == 0, checked.text


def test_what_is_hidden_keeps_its_line_and_its_place_and_says_why(hidden: Opened, shown: Opened) -> None:
    assert list(hidden.events) == list(shown.events)
    assert [row["line"] for row in hidden.rows] == [row["line"] for row in shown.rows]
    for row in hidden.events.values():
        assert (row["body"] is None) == (row["salt"] is None) == bool(row["why"])
    assert hidden.kinds("hidden: gold, prompts") == {
        "genesis", "freeze", "cell", "request", "response", "parse", "confirm", "report",
    }  # fmt: skip
    assert hidden.kinds("hidden: prompts") == {"plan"}
    assert hidden.kinds() == {"freeze", "fault", "score", "tally", "close", "supersede"} - {"fault"}


def test_the_readme_counts_what_is_hidden_by_kind_and_says_where(hidden: Opened) -> None:
    text = hidden.members["README.md"].decode()
    cells = [seq for seq, row in hidden.events.items() if row["at"]["kind"] == "cell"]
    assert f"- cell: 24 ({cells[0]}-{cells[-1]})" in text
    assert "- genesis: 1 (1)" in text


def test_hidden_replies_leave_prompts_and_golds_shown(ledger: Bundled) -> None:
    bundle = made(ledger, hide="replies", name="replies.zip")
    assert bundle.kinds("hidden: replies") == {"response", "parse", "confirm"}
    assert {"genesis", "cell", "request", "score"} <= bundle.kinds()


def _with(ledger: Bundled, *drafts: Draft) -> None:
    with ledger.ledger() as appended:
        appended.append(*drafts)
    ledger.checkpoint()


def _said(reason: str) -> Draft:
    return Draft(kinds.Taint(target=kinds.Target(what="model", id="scripted-9"), reason=reason))


SPELLED = {
    "plain": GOLDS[1],
    "in capitals": f"the word is {GOLDS[1].upper()}!",
    "within a word": f"pre{GOLDS[1]}post",
    "as JSON's escapes": "".join(f"\\u{ord(each):04x}" for each in GOLDS[1]),
    "in JSON in JSON": json.dumps(json.dumps({"gold": "".join(f"\\u{ord(each):04x}" for each in GOLDS[1])})),
    "as base64": base64.b64encode(f"it is {GOLDS[1]}, no less".encode()).decode(),
    "as hex": f"it is {GOLDS[1]}".encode().hex(),
    "as a URL": "".join(f"%{ord(each):02x}" for each in GOLDS[1]),
    "as HTML": "".join(f"&#{ord(each)};" for each in GOLDS[1]),
    "a prompt": PROMPTS[4],
    "half a prompt": PROMPTS[4][20:60],
    "a prompt as JSON": json.dumps(PROMPTS[4]),
    "the template": f"> {TEMPLATE}",
    "a locator": f"ledger:eval-ledger/local/{'0' * 32}/7/{'a' * 64}/{'b' * 64}#/value",
}


def test_a_hidden_text_in_what_somebody_wrote_is_hidden_too_however_it_is_spelled(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    _with(ledger, *(_said(text) for text in SPELLED.values()), _said("nothing that matters"))
    bundle = made(ledger, hide="gold,prompts")
    whys = [row["why"] for row in bundle.events.values() if row["at"]["kind"] == "taint"]
    assert dict(zip([*SPELLED, "nothing"], whys, strict=True)) == {**dict.fromkeys(SPELLED, HELD), "nothing": ""}
    assert not any(each.encode() in bundle.told for each in (*GOLDS, "Zarquon"))


def test_names_tags_recipients_and_rule_files_are_looked_into(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    gold = GOLDS[7]
    with ledger.ledger() as appended:
        (report,) = appended.events(kind="report")
        (plan,) = appended.events(kind="plan", run=ledger.run)
        body = appended.body(plan)
        run = "telltalerun22222"
        assert isinstance(body, kinds.Plan)
        told = body.model_copy(update={"name": f"like {gold}", "tags": [gold]})
        rules = kinds.Freeze(what="rules", name="other", digest="ab" * 32, identity="cd" * 32)
        (frozen,) = appended.append(Draft(rules, blobs={"file": f'accept = ["{gold}"]'.encode()}))
        appended.append(
            Draft(told, run=run, causes=sorted([*plan.causes, frozen.seq])),
            Draft(kinds.Publish(report=report.seq, to=f"the {gold} team"), causes=[report.seq]),
        )
    ledger.checkpoint()
    bundle = made(ledger, run, hide="gold")
    held = {(row["at"]["kind"], row["at"]["run"]) for row in bundle.events.values() if row["why"] == HELD}
    assert held == {("plan", run), ("publish", ""), ("freeze", "")}
    assert gold.encode() not in bundle.told


def test_a_score_that_names_a_word_of_the_gold_is_hidden_and_its_claim_is_left_in_part(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        (cell,) = appended.events(kind="cell", run=ledger.run, cell=3)
        score = appended.body([*appended.events(kind="score", run=ledger.run, cell=3)][-1])
        assert isinstance(score, kinds.Score)
        telling = score.model_copy(update={"verdict": GOLDS[2], "blobs": {}})
        appended.append(Draft(telling, run=ledger.run, cell=3, causes=[cell.seq]))
    ledger.checkpoint()
    bundle = made(ledger, hide="gold")
    last = max(seq for seq, row in bundle.events.items() if row["at"]["kind"] == "score")
    assert bundle.events[last]["why"] == HELD
    assert all(not row["why"] for seq, row in bundle.events.items() if row["at"]["kind"] == "score" and seq != last)


def test_a_word_that_stands_in_every_bundle_hides_only_what_is_that_word() -> None:
    texts = HiddenTexts("it is true that all is proved")
    texts.add("true")
    texts.add("no")
    assert texts.is_one("True")
    assert texts.is_one("no")
    assert not texts.held_by("it is true, and no other")
    assert texts.names_one("I say it's True")
    assert not texts.names_one("untrue, and no other")


def test_the_last_look_refuses_a_zip_that_holds_a_text_and_names_the_member(
    hidden: Opened, ledger: Bundled, tmp_path: Path
) -> None:
    texts = HiddenTexts()
    texts.add("openai/second")

    def look(path: Path, looked_for: Known) -> None:
        reread(
            path, looked_for, reader=hidden.members["verify.py"], shown_whole=frozenset(), seed=None, ours=frozenset()
        )

    with pytest.raises(Refused, match=r"README\.md of the bundle would hold a text that is to be hidden"):
        look(hidden.path, Known(texts))
    with ledger.ledger() as read:
        known = known_texts(read, 226, frozenset({"gold", "prompts"}))
    look(hidden.path, known)


def test_a_withheld_file_of_cases_is_named_since_nobody_can_look_for_its_texts(tmp_path: Path) -> None:
    from ledger._redact import redact
    from ledger._redact_targets import find_targets

    ledger = bundled(tmp_path)
    with ledger.ledger() as appended:
        (fixture,) = [each for each in appended.events(kind="freeze") if b'"fixture"' in (each.body or "").encode()]
        targets = find_targets(appended, [f"{fixture.seq}:file"])
    redact(ledger.db, targets, category="personal", reason="a name")
    ledger.checkpoint()
    assert made(ledger, hide="gold").made.unread == (fixture.seq,)


def test_rules_that_name_what_answers_several_cases_are_shown_so_that_drawn_cells_can_be_derived_again(
    drawn: Opened, ledger: Bundled
) -> None:
    rules = [row for row in drawn.events.values() if row["at"]["kind"] == "freeze" and not row["why"]]
    assert [json.loads(row["body"])["what"] for row in rules] == ["rules"]
    assert set(rules[0]["blobs"]) == {"file", "sources"}
    texts = HiddenTexts()
    for word in ("verdict_one", "jkqv"):
        texts.add(word)
    assert texts.held_by("a rule that names verdict_one")
    assert not texts.held_by("a rule that names verdict_one", {"verdict_one"})
    assert texts.held_by("a rule that names verdict_one and jkqv", {"verdict_one"})


def test_a_common_word_of_the_gold_is_found_in_what_people_wrote(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    fixture = b'{"id": "a", "input": "Is it?", "gold": "true", "meta": {}}\n'
    frozen = kinds.Freeze(what="fixture", name="yes/no", digest="ef" * 32, identity="ef" * 32)
    _with(ledger, Draft(frozen, blobs={"file": fixture}), _said("the answer was True"), _said("it was untrue"))
    bundle = made(ledger, hide="gold")
    whys = [row["why"] for row in bundle.events.values() if row["at"]["kind"] == "taint"]
    assert whys == [HELD, ""]
