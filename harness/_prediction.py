"""Predictions: what somebody expects of a suite's figures, frozen in the chain, so that it shows which came first,
expectation or results.

    suite = "authority"
    rules = "strict-cite"                   optional: the rule set it speaks of, by name or label; else every one
    about = "one line for people"           optional
    [[expect]]
    bar = "direction >= 9/12"               as in a rule file (harness._bars)
    candidate = "openai/gpt-x"              optional: else every candidate of the run
    [[expect]]
    metric = "direction"                    the figure of one candidate above that of another
    higher = "openai/gpt-x"
    than = "ollama/llama3.2"

When a prediction was made is told by its place in the chain, never by a clock or by a file's name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from harness._bars import Bar, counted, judge_bar, parse_bar
from harness._errors import RulesError, SuiteError, UsageError
from harness._identity import file_digest
from harness._rules import load_rules
from harness._suite import load_suite
from harness.suites import stage_names, stages
from ledger import Draft, Ledger, NotFound, as_of, over_views
from ledger.kinds import Freeze

__all__ = [
    "Expectation", "Held", "Judged", "Prediction", "check_prediction", "freeze_prediction", "parse_prediction",
    "predictions_for",
]  # fmt: skip

_KEYS = ("suite", "rules", "about", "expect")
_BAR, _DIRECTION = frozenset({"bar", "candidate"}), frozenset({"metric", "higher", "than"})
_LONGEST = 1 << 20
_FROZEN = (
    "SELECT seq FROM main.events WHERE kind = 'freeze' AND body ->> '$.what' = 'prediction'"
    " AND body ->> '$.identity' = ?"
    " AND NOT EXISTS (SELECT 1 FROM main.blobs WHERE blobs.seq = events.seq AND blobs.data IS NULL)"
    " ORDER BY seq LIMIT 1"
)
_EVERY = "SELECT seq, name, digest, superseded, tainted FROM freezes WHERE what = 'prediction' ORDER BY seq"
_RULES = "SELECT label, name FROM freezes WHERE what = 'rules'"
_PLANNED = (
    "SELECT DISTINCT metric.value ->> '$.name' AS metric FROM main.events AS plan,"
    " json_each(plan.body, '$.rules') AS rules, json_each(rules.value, '$.metrics') AS metric"
    " WHERE plan.kind = 'plan' AND plan.body ->> '$.suite' = ?"
)
_RUN = "SELECT suite, via FROM runs WHERE run = ?"
_STANDING = "SELECT rules, first_response, standing FROM rule_standing WHERE run = ? ORDER BY freeze, rules"
_BOARD = "SELECT * FROM scoreboard WHERE run = ?"


@dataclass(frozen=True)
class Expectation:
    """One expectation: a `bar` (for one `candidate`, or for all), or the figure of `higher` above that of `than`."""

    metric: str
    bar: Bar | None = None
    candidate: str = ""
    higher: str = ""
    than: str = ""

    @property
    def text(self) -> str:
        """In one line."""
        if self.bar is not None:
            return self.bar.text + (f" ({self.candidate})" if self.candidate else "")
        return f"{self.metric}: {self.higher} above {self.than}"


@dataclass(frozen=True)
class Prediction:
    """A prediction as it was written. `rules` is empty where it speaks of every rule set."""

    suite: str
    rules: str
    about: str
    expect: tuple[Expectation, ...]


@dataclass(frozen=True)
class Judged:
    """An expectation held against a run, under one rule set and for one candidate (two, where it says which is higher).

    `status` is "met", "not met", or "undecided" where the unmeasured could turn it, or nothing tells. `standing` is the
    rule set's on the run, confirmatory or post hoc; empty where the run has no such rule set.
    """

    expectation: Expectation
    rules: str
    standing: str
    candidate: str
    status: Literal["met", "not met", "undecided"]
    figure: str
    why: str

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "text": self.expectation.text, "metric": self.expectation.metric, "rules": self.rules,
            "rules_standing": self.standing, "candidate": self.candidate, "status": self.status, "figure": self.figure,
            "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True)
class Held:
    """A frozen prediction that speaks of a run's suite: its freeze, whether that stood before the run's first response
    (`because` says how that is known), and every expectation judged. `prediction` is None, with `unread` saying why,
    where nobody can read it any more."""

    seq: int
    name: str
    digest: str
    before: bool
    because: str
    superseded: bool
    tainted: bool
    prediction: Prediction | None
    unread: str
    results: tuple[Judged, ...]

    @property
    def standing(self) -> Literal["confirmatory", "post hoc"]:
        """What it is called beside numbers."""
        return "confirmatory" if self.before else "post hoc"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "event": self.seq, "name": self.name, "digest": self.digest, "standing": self.standing,
            "because": self.because, "superseded": self.superseded, "tainted": self.tainted, "unread": self.unread,
            "about": self.prediction.about if self.prediction else "",
            "results": [each.as_json() for each in self.results],
        }  # fmt: skip


# Reading and freezing


def parse_prediction(file: bytes, where: str, metrics: Sequence[str] | None = None) -> Prediction:
    """Read a prediction file; `where` names it in errors. With `metrics`, another metric is refused.

    Raises UsageError with one sentence.
    """
    try:
        table = tomllib.loads(file.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: expected TOML, got text that isn't: {error}") from None
    unknown = set(table) - set(_KEYS)
    if unknown:
        raise UsageError(f"{where}: unknown key {min(unknown)!a}; expected {', '.join(_KEYS)}")
    listed = table.get("expect")
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{where}: expected at least one [[expect]], with a bar, or with metric, higher and than")
    items = enumerate(cast("list[Any]", listed), start=1)
    expect = tuple(_expectation(item, f"{where}: [[expect]] {at}", metrics) for at, item in items)
    return Prediction(
        _text(table, "suite", where), _text(table, "rules", where, optional=True),
        _text(table, "about", where, optional=True), expect,
    )  # fmt: skip


def _expectation(item: Any, where: str, metrics: Sequence[str] | None) -> Expectation:
    given = cast("dict[str, Any]", item if isinstance(item, dict) else {"bar": item} if isinstance(item, str) else {})
    if "bar" in given and set(given) <= _BAR:
        text = _text(given, "bar", where)
        try:
            bar = parse_bar(text, [text.partition("<")[0].partition(">")[0].strip()] if metrics is None else metrics)
        except RulesError as error:
            raise UsageError(f"{where}: {error}") from None
        return Expectation(bar.metric, bar, candidate=_text(given, "candidate", where, optional=True))
    if given.keys() != _DIRECTION:
        keys = ", ".join(ascii(key)[1:-1] for key in sorted(given)) or "nothing"
        raise UsageError(f"{where}: expected bar (and candidate, if need be), or metric, higher and than; got {keys}")
    metric, higher, than = (_text(given, key, where) for key in ("metric", "higher", "than"))
    if metrics is not None and metric not in metrics:
        raise UsageError(f"{where}: metric: expected one of {', '.join(metrics)}, got {metric!a}")
    if higher == than:
        raise UsageError(f"{where}: higher and than both name {higher!a}; nothing is above itself")
    return Expectation(metric, higher=higher, than=than)


def _text(table: Mapping[str, Any], key: str, where: str, *, optional: bool = False) -> str:
    value = table.get(key, "" if optional else None)
    if not isinstance(value, str) or not (value or (optional and key not in table)):
        got = "nothing" if key not in table else ascii(value)[:200]
        raise UsageError(f"{where}: {key}: expected text, got {got}")
    return value


def check_prediction(path: Path, ledger: Ledger | None) -> bytes:
    """The bytes of a prediction file, once everything it names is known: on disk, or in the ledger if there is one.

    Raises UsageError, naming the file: when it can't be read, holds a key that means nothing, or names a suite, rule
    set or metric that there isn't.
    """
    where = ascii(str(path))[1:-1]
    file = _read(path, where)
    parse_prediction(file, where, _metrics(ledger, parse_prediction(file, where), where))
    return file


def freeze_prediction(ledger: Ledger, path: Path) -> tuple[int, bool]:
    """Freeze a prediction file; also says whether that was done just now: the same file stands frozen once.

    Raises UsageError as `check_prediction` does.
    """
    file = check_prediction(path, ledger)
    digest = file_digest(file)
    for row in ledger.rows(_FROZEN, (digest,)):
        return int(row["seq"]), False
    body = Freeze(what="prediction", name=path.stem, digest=digest, identity=digest)
    (event,) = ledger.append(Draft(body, blobs={"file": file}))
    return event.seq, True


def _read(path: Path, where: str) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{where}: expected a file, got something else")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{where}: can't be read: {error.strerror}") from None
    if len(data) > _LONGEST:
        raise UsageError(f"{where}: expected a prediction of at most 1 MiB, got {len(data):,} bytes")
    return data


def _metrics(ledger: Ledger | None, prediction: Prediction, where: str) -> list[str]:
    """The metrics of the suite (or of the rule set) that a prediction speaks of, from disk or from the ledger."""
    frozen = [(row["label"], row["name"]) for row in ledger.rows(over_views(_RULES))] if ledger else []
    named = prediction.rules.partition("@")[0]
    try:
        suite, _ = load_suite(prediction.suite)
    except SuiteError as problem:
        known = [str(row["metric"]) for row in ledger.rows(_PLANNED, (prediction.suite,))] if ledger else []
        if not known and prediction.suite in stage_names():
            known = [metric.name for metric in stages(prediction.suite).metrics]
        if not known:
            raise UsageError(f"{where}: suite: {problem}") from None
    else:
        if suite.name != prediction.suite:
            raise UsageError(f"{where}: suite: expected the suite's name, {suite.name}, got {prediction.suite!a}")
        known = [metric.name for metric in suite.stage_functions.metrics]
        if prediction.rules:
            try:
                rules = load_rules(suite, named)
            except RulesError as problem:
                if all(prediction.rules not in each for each in frozen):
                    raise UsageError(f"{where}: rules: {problem}") from None
            else:
                if prediction.rules in (rules.name, rules.label):
                    return [metric.name for metric in rules.metrics]
    if prediction.rules and all(prediction.rules not in each for each in frozen):
        raise UsageError(f"{where}: rules: no rule set {prediction.rules!a} is on disk or frozen here")
    return known


# Holding a run against them


def predictions_for(ledger: Ledger, run: str, *, size: int | None = None) -> list[Held]:
    """Every frozen prediction that speaks of the run's suite, oldest first, held against the scoreboard.

    With `size`, as if the chain ended at that event. One frozen again under another name counts where it was first.
    A prediction that can't be read any more is listed, since nobody can tell which suite it spoke of.
    """

    def rows(query: str, *values: object) -> list[dict[str, Any]]:
        return ledger.rows(over_views(query, None if size is None else as_of(size)), values)

    facts = rows(_RUN, run)
    if not facts:
        raise UsageError(f"run {run} has no plan; `ledger verify` says more")
    standing = rows(_STANDING, run)
    board = rows(_BOARD, run)
    found: dict[str, Held] = {}
    for row in rows(_EVERY):
        prediction, unread = _thaw(ledger, row)
        if row["digest"] in found and found[row["digest"]].prediction is not None:
            continue
        if prediction is not None and prediction.suite != facts[0]["suite"]:
            continue
        before, because = _stood(row["seq"], facts[0]["via"], standing)
        results = _judge(prediction, standing, board) if prediction is not None else ()
        found[row["digest"]] = Held(
            row["seq"], row["name"], row["digest"], before, because, bool(row["superseded"]), bool(row["tainted"]),
            prediction, unread, tuple(results),
        )  # fmt: skip
    return sorted(found.values(), key=lambda held: held.seq)


def _thaw(ledger: Ledger, row: Mapping[str, Any]) -> tuple[Prediction | None, str]:
    try:
        return parse_prediction(ledger.blob(int(row["seq"]), "file"), f"event {row['seq']}"), ""
    except NotFound as problem:
        return None, str(problem)
    except UsageError as problem:
        return None, f"another release wrote it: {problem}"


def _stood(seq: int, via: str, standing: Sequence[Mapping[str, Any]]) -> tuple[bool, str]:
    if via == "import":
        return False, "the answers were imported"
    first = min((row["first_response"] for row in standing if row["first_response"] is not None), default=None)
    if first is None:
        return True, "no response has come"
    if seq < first:
        older = ", which is the replay of an older one" if via == "replay" else ""
        return True, f"frozen before the first response (event {first}){older}"
    if first == 0:
        return False, "a response of another ledger was taken over, older than all of this one"
    return False, f"frozen after the first response (event {first})"


def _judge(
    prediction: Prediction, standing: Sequence[Mapping[str, Any]], board: Sequence[Mapping[str, Any]]
) -> list[Judged]:
    figures = {(row["rules"], row["candidate"], row["metric"]): row for row in board}
    labels = {
        str(row["rules"]): str(row["standing"]) for row in standing
        if prediction.rules in ("", row["rules"], str(row["rules"]).rpartition("@")[0])
    }  # fmt: skip
    candidates = list(dict.fromkeys(str(row["candidate"]) for row in board))
    if not labels:
        why = f"The run was not scored under {prediction.rules}."
        return [
            Judged(each, prediction.rules, "", each.candidate or each.higher, "undecided", "no data", why)
            for each in prediction.expect
        ]
    found: list[Judged] = []
    for label, stands in labels.items():
        for each in prediction.expect:
            if each.bar is None:
                found.append(_judge_direction(each, label, stands, figures))
                continue
            for candidate in [each.candidate] if each.candidate else candidates:
                row = figures.get((label, candidate, each.metric))
                result = judge_bar(each.bar, row, candidate)
                status = "not met" if result.status == "failed" else result.status
                found.append(Judged(each, label, stands, candidate, status, result.figure, result.why))
    return found


def _judge_direction(
    each: Expectation, label: str, standing: str, figures: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> Judged:
    sides = [figures.get((label, name, each.metric)) for name in (each.higher, each.than)]
    both = f"{each.higher} above {each.than}"
    shown = " against ".join(_figure(row) for row in sides)
    for name, row in zip((each.higher, each.than), sides, strict=True):
        if row is None or not row["n"]:
            why = f"{name} {'has no figure of this metric in the run' if row is None else 'has no measured cell'}."
            return Judged(each, label, standing, both, "undecided", shown, why)
    higher, than = (_bounds(row) for row in sides if row is not None)
    apart = float(sides[0]["rate"]) - float(sides[1]["rate"]) if sides[0] and sides[1] else 0.0
    words = "the same as" if apart == 0 else f"{abs(apart):.3f} {'above' if apart > 0 else 'below'}"
    if not (met := higher[0] > than[1]) and higher[1] > than[0]:
        left = sum(int(row["planned"]) - int(row["n"]) for row in sides if row is not None)
        why = f"{each.higher} is {words} {each.than} on what was measured, but the {left} left out could turn it."
        return Judged(each, label, standing, both, "undecided", shown, why)
    why = "The two are the same." if apart == 0 else f"{each.higher} is {words} {each.than}."
    return Judged(each, label, standing, both, "met" if met else "not met", shown, why)


def _bounds(row: Mapping[str, Any]) -> tuple[float, float]:
    """The least and the most that a figure could be, whatever the cells that it leaves out would have been."""
    n, planned = int(row["n"]), int(row["planned"])
    if n == planned:
        return float(row["rate"]), float(row["rate"])
    total = float(row["rate"]) * n if row["k"] is None else float(row["k"])
    return total / planned, (total + planned - n) / planned


def _figure(row: Mapping[str, Any] | None) -> str:
    return "no data" if row is None or not row["n"] else counted(row)
