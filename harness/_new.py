"""A new suite: files made of somebody's table (or of a worked example), checked whole before any is put in place."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness._errors import UsageError
from harness._fit import check_asks, check_golds, located
from harness._json import loads, members
from harness._new_advice import advice
from harness._new_cases import BadRows, Made
from harness._new_draft import Wanted, case_check, draft
from harness._new_files import eval_file, ignored, prompt_file, readme_file, suite_file
from harness._new_fitted import Fitted
from harness._new_kits import Kit, example_cases, find_kit
from harness._new_rows import Table, read_table
from harness._new_rules import Asked, fit_rules
from harness._new_settings import read_settings
from harness._prices import PRICES_FILE, price_template
from harness._rules import load_rules
from harness._suite import load_suite
from ledger import printable

__all__ = ["BadRows", "NewSuite", "Wanted", "new_suite"]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_MOST_BAD: Final = 20


@dataclass(frozen=True)
class NewSuite:
    """What was made: the folder, how many cases, which rows were left out and why, and files beside the suite.

    `empty_rows` held nothing at all. `ignored` is what was added to .gitignore; `notes` is what to know.
    """

    folder: Path
    cases: int
    skipped: Sequence[tuple[str, str]] = ()
    empty_rows: int = 0
    files: Sequence[str] = ()
    ignored: Sequence[str] = ()
    notes: Sequence[str] = ()


def new_suite(wanted: Wanted, root: Path = Path("fixtures")) -> NewSuite:
    """Make a suite under `root`, and eval.toml, prices.toml and .gitignore beside `root` where they are missing.

    Raises UsageError (BadRows for rows that can't be cases); nothing is there then that wasn't before.
    """
    if not _NAME.fullmatch(wanted.name):
        raise UsageError(
            f"expected a suite's name in lower-case letters, digits, _ . and -, got {wanted.name[:100]!r}"
        )  # fmt: skip
    kit = find_kit(wanted.score)
    folder = root / wanted.name
    if folder.exists() or folder.is_symlink():
        raise UsageError(
            f"{_show(folder)} is there already, and nothing is overwritten; take another name, move the folder away, or"
            f" put changed cases into {_show(folder / 'v2' / 'cases.jsonl')}"
        )
    built = _from_data(wanted, wanted.data) if wanted.data is not None else _example(wanted, kit)
    ask = built.fitted.ask or kit.ask
    files = {
        "suite.toml": suite_file(wanted.name, ask, prompt=bool(built.prompt)),
        f"rules/{kit.name}.toml": built.fitted.rules,
        "v1/cases.jsonl": built.cases,
        "README.md": readme_file(wanted.name, kit, built.count, built.came_from, prompt=bool(built.prompt)),
        **({"prompts/question.txt": built.prompt} if built.prompt else {}),
    }
    try:
        _put(folder, files)
        beside, added = _put_beside(root.parent, wanted.name)
    except OSError as error:
        raise UsageError(f"{_show(folder)} can't be written: {error.strerror or error}") from None
    return NewSuite(folder, built.count, built.skipped, built.empty_rows, beside, added, built.notes)


@dataclass(frozen=True)
class _Built:
    prompt: str
    fitted: Fitted
    cases: str
    count: int
    came_from: str
    skipped: Sequence[tuple[str, str]] = ()
    empty_rows: int = 0
    notes: Sequence[str] = ()


def _example(wanted: Wanted, kit: Kit) -> _Built:
    text = example_cases(kit).decode("utf-8")
    made = [_of_line(line, number) for number, line in enumerate(text.splitlines(), start=1)]
    given = read_settings(kit, wanted.settings)
    fitted = fit_rules(kit, Asked(kit.inputs, made, options="options" in kit.inputs, given=given))
    fields = [name for name in kit.inputs if name != "options"]
    listing = fitted.listing if "options" in kit.inputs else ""
    prompt = prompt_file(fields, (), listing=listing, tail=fitted.tail)
    check = case_check(prompt, fitted, kit)
    fault = next((found for each in made if (found := check(each.input, each.gold))), None)
    if fault is not None:
        raise UsageError(
            f"the worked example of {kit.name} doesn't go with these options: {fault}; name a table of yours"
        )
    notes = fitted.notes if wanted.settings else ()
    return _Built(prompt, fitted, text, len(made), " (an example, to be replaced by yours)", notes=notes)


def _of_line(line: str, number: int) -> Made:
    parts = members(line)
    return Made(f"line {number}", line, parts["input"], loads(parts["input"]), loads(parts["gold"]))


def _from_data(wanted: Wanted, data: Path) -> _Built:
    table = read_table(data, delimiter=wanted.delimiter, encoding=wanted.encoding)
    if not table.rows:
        raise UsageError(f"{_show(data)}: expected rows below the header, got none")
    drafted = draft(wanted, table, data.parent)
    made, bad = drafted.cases(table, data.parent)
    if bad and not (wanted.skip_bad and made):
        raise _refusal(made, bad, table, data, wanted)
    came_from = f" out of {printable(data.name)}"
    text = "".join(each.line + "\n" for each in made)
    notes = (*drafted.fitted.notes, *_twins(made))
    return _Built(drafted.prompt, drafted.fitted, text, len(made), came_from, bad, table.empty, notes)


def _twins(made: Sequence[Made]) -> Sequence[str]:
    """A word on cases that ask the same: they are kept, and their golds may well contradict one another."""
    first: dict[str, Made] = {}
    again = [each for each in made if first.setdefault(each.asked, each) is not each]
    if not again:
        return ()
    apart = [each for each in again if each.gold != first[each.asked].gold]
    named = (apart or again)[0]
    golds = f", {len(apart)} of them with another gold" if apart else ""
    return (
        f"{len(again)} of the cases ask what an earlier one asks{golds}, such as {named.where} and"
        f" {first[named.asked].where}; all were kept.",
    )


def _refusal(made: Sequence[Made], bad: list[tuple[str, str]], table: Table, data: Path, wanted: Wanted) -> BadRows:
    """Why nothing is made, and what mends it: options that were tried on the table, else what is left to do."""
    more = f", the first {_MOST_BAD} of them above" if len(bad) > _MOST_BAD else " (see above)"
    tried = advice(wanted, table, data.parent, [where for where, _ in bad])
    if tried:
        mend = "try " + " or ".join(f"`{each}`" for each in tried) + ("; which is meant?" if len(tried) > 1 else "")
    elif made:
        mend = "mend them, or leave them out with --skip-bad"
    else:
        mend = "is it the right column, and the right scorer?"
    return BadRows(f"{_show(data)}: {len(bad)} of {len(table.rows)} rows can't be cases{more}; {mend}", bad[:_MOST_BAD])


def _put(folder: Path, files: Mapping[str, str]) -> None:
    """Write a suite beside where it goes, load it as a run would, and move it there in one step."""
    made_root = not folder.parent.exists()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _beside(folder.parent) as building:
            place = building / folder.name
            for name, text in files.items():
                path = place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            suite, fixtures = load_suite(folder.name, building)
            rules = [load_rules(suite, name) for name in suite.rule_names]
            cases = located(suite, fixtures)
            check_asks(suite.stage_functions, suite.prompt, cases)
            check_golds(suite.stage_functions, rules, cases)
            place.rename(folder)
    except BaseException:
        if made_root:
            with contextlib.suppress(OSError):
                folder.parent.rmdir()
        raise


@contextlib.contextmanager
def _beside(folder: Path) -> Generator[Path]:
    found = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    try:
        yield found
    finally:
        shutil.rmtree(found, ignore_errors=True)


def _put_beside(folder: Path, name: str) -> tuple[list[str], Sequence[str]]:
    made: list[str] = []
    for path, text in ((folder / "eval.toml", eval_file(name)), (folder / PRICES_FILE, price_template())):
        if not (path.exists() or path.is_symlink()):
            _write_whole(path, text)
            made.append(path.name)
    path = folder / ".gitignore"
    before = path.read_text("utf-8", errors="surrogateescape") if path.is_file() else ""
    after, added = ignored(before)
    if added:
        _write_whole(path, after)
    return made, added


def _write_whole(path: Path, text: str) -> None:
    """The file is there whole or as it was, whatever happens; one that is a link stays one."""
    handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        target = path.resolve()
        Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    found = os.umask(0o022)
    os.umask(found)
    return found


def _show(path: Path) -> str:
    return printable(str(path))
