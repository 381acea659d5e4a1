"""The texts of a manifest: tasks, references and fixtures, each out of the manifest or out of a file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from harness._identity import file_digest
from harness.judging import Rubric, Verdict, judge
from harness.rubrics._files import read_inside
from harness.rubrics._table import ID, Table, by_id, got, listed

__all__ = ["Aim", "FixtureText", "Reference", "read_fixtures", "read_references", "read_tasks"]

Aim = Literal["pass", "fail"]


@dataclass(frozen=True)
class Reference:
    """A text that is deliberately shown to the judge. An adversarial one wants the verdict `aim`. `marker` says whether
    an injection marker is there (None: nobody said), `flags` are right to raise for it."""

    id: str
    kind: Literal["neutral", "adversarial"]
    text: str
    aim: Literal["pass", "fail", ""]
    marker: bool | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class FixtureText:
    """A text to be graded, and what only scoring knows of it.

    `oracle` are the scores that are right, `quality` and `verdict` what they come to under the policy, None without.
    `flags` are right to raise, `marker` says whether an injection marker is there (None: nobody said), `aim` what an
    attack wants; "" where the manifest doesn't say.
    """

    id: str
    task: str
    label: str
    text: str
    oracle: Mapping[str, int] | None
    quality: Aim | None
    verdict: Verdict | None
    flags: tuple[str, ...]
    marker: bool | None
    aim: Literal["pass", "fail", ""]

    @property
    def digest(self) -> str:
        """The plain BLAKE3 of the text's bytes."""
        return file_digest(self.text.encode("utf-8"))


def read_tasks(manifest: Table, folder: Path) -> dict[str, str]:
    """The texts of [tasks.ID], by id. Raises SuiteError."""
    found: dict[str, str] = {}
    for name, table in _named(manifest, "tasks").items():
        table.only("text", "file")
        found[name] = _text(table, folder)
    return found


def read_references(manifest: Table, folder: Path, rubric: Rubric) -> dict[str, Reference]:
    """What [references.ID] hold, by id. Raises SuiteError."""
    found: dict[str, Reference] = {}
    for name, table in _named(manifest, "references").items():
        table.only("kind", "text", "file", "aim", "marker", "flags")
        kind = table.choice("kind", ("neutral", "adversarial"))
        if kind == "adversarial":
            aim = table.choice("aim", ("pass", "fail"))
        else:
            aim = ""
            if "aim" in table.values:
                raise table.fault("aim", "a neutral reference wants no verdict; leave it out, or make it adversarial")
        found[name] = Reference(
            name, cast("Any", kind), _text(table, folder), cast("Any", aim), table.flag("marker"), _flags(table, rubric)
        )
    return found


def read_fixtures(
    manifest: Table, folder: Path, tasks: Mapping[str, str], rubric: Rubric
) -> dict[str, FixtureText]:  # fmt: skip
    """What [[fixtures]] hold, by id. Raises SuiteError."""
    return by_id(manifest.tables("fixtures"), lambda table: _fixture(table, folder, tasks, rubric))


def _named(manifest: Table, key: str) -> dict[str, Table]:
    tables = manifest.table(key)
    found: dict[str, Table] = {}
    for name, value in tables.values.items():
        if not ID.fullmatch(name):
            raise tables.fault(name[:64], "expected an id of up to 64 letters, digits, _ . and -")
        if not isinstance(value, dict):
            raise tables.fault(name, f"expected a table with text or file, got {got(value)}")
        found[name] = tables.table(name)
    return found


def _text(table: Table, folder: Path) -> str:
    if ("text" in table.values) == ("file" in table.values):
        raise table.fault("", f"expected text or file, got {'both' if 'text' in table.values else 'neither'}")
    if "text" in table.values:
        return table.text("text")
    where = f"{table.file}: {table.place}: file"
    text = read_inside(folder, table.values["file"], where)
    # The same limits as of a text in the manifest.
    return Table(where, got(table.values["file"]), {"text": text}).text("text")


def _flags(table: Table, rubric: Rubric) -> tuple[str, ...]:
    flags = table.texts("flags")
    for each in flags:
        table.known("flags", each, {flag.id: flag for flag in rubric.flags}, "flag")
    return flags


def _fixture(table: Table, folder: Path, tasks: Mapping[str, str], rubric: Rubric) -> FixtureText:
    table.only("id", "task", "label", "text", "file", "oracle", "verdict", "flags", "marker", "aim")
    table.known("task", table.values.get("task"), tasks, "task")
    flags = _flags(table, rubric)
    oracle = _oracle(table, rubric)
    quality: Aim | None = None
    verdict: Verdict | None = None
    if oracle is not None:
        judged = judge(rubric, oracle, flags)
        quality, verdict = judged.quality, judged.verdict
    if "verdict" in table.values:
        said = cast("Verdict", table.choice("verdict", ("pass", "fail", "blocked")))
        if verdict is not None and said != verdict:
            of = f"the flags {listed(flags)}" if flags else "the oracle under the policy"
            raise table.fault("verdict", f'expected "{verdict}", which {of} gives, got "{said}"')
        if (said == "blocked") != bool(flags):
            wanted = (
                "a flag that is right to raise (flags)" if said == "blocked" else '"blocked", since flags are named'
            )
            raise table.fault("verdict", f'expected {wanted}, got "{said}"{"" if flags else " without one"}')
        verdict = said
        quality = quality or ("pass" if said == "pass" else "fail" if said == "fail" else None)
    task, label = cast("str", table.values["task"]), table.text("label", "", empty=True)
    return FixtureText(
        table.id(), task, label, _text(table, folder), oracle,
        quality, verdict, flags, table.flag("marker"),
        cast("Any", table.choice("aim", ("pass", "fail"))) if "aim" in table.values else "",
    )  # fmt: skip


def _oracle(table: Table, rubric: Rubric) -> dict[str, int] | None:
    if "oracle" not in table.values:
        return None
    given = table.table("oracle")
    for name in given.values:
        given.known(name, name, {each.id: each for each in rubric.criteria}, "criterion")
    found: dict[str, int] = {}
    for criterion in rubric.criteria:
        name = criterion.id
        if name not in given.values:
            raise given.fault(name, "expected a score for every criterion, got none for this one")
        found[name] = given.integer(name, least=criterion.least, most=criterion.most)
    return found
