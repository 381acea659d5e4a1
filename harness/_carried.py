"""Where suites are looked for: a person's own `fixtures/` first, then those that the package carries.

A wheel carries the suites of the project's own `fixtures/` as `harness/carried/` (pyproject.toml); a checkout, which
runs from its source, has them beside the package.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = [
    "FIXTURES", "carried_note", "carried_root", "is_carried", "known_suites", "list_suites", "places", "portable",
    "suite_folder",
]  # fmt: skip

FIXTURES = Path("fixtures")
"""Where a person's own suites lie, from the folder that a command is typed in."""
_PACKAGE = Path(__file__).resolve().parent


@cache
def carried_root() -> Path | None:
    """The folder of the suites that came with this program; None where it came without."""
    found = (_PACKAGE / "carried", _PACKAGE.parent / "fixtures")
    return next((each for each in found if (each / "authority" / "suite.toml").is_file()), None)


def list_suites(root: Path = FIXTURES) -> tuple[str, ...]:
    """The names of the folders under `root` that hold a suite.toml, sorted; of none that the package carries."""
    return tuple(sorted(path.parent.name for path in root.glob("*/suite.toml")))


def known_suites() -> tuple[str, ...]:
    """The names of all suites that can be run from here: a person's own, then those that only the package carries."""
    own, carried = list_suites(), carried_root()
    return (*own, *(name for name in (list_suites(carried) if carried else ()) if name not in own))


def places(reference: str, root: Path = FIXTURES) -> list[Path]:
    """Where the suite or the fixture that `reference` names may lie, the first one that is there counts.

    A path that says that it is one (`./x`, `/x`) is nothing else. A name is looked for under `root`, then as a path,
    and only under a person's own root among the carried ones.
    """
    trimmed = reference.rstrip("/")
    if not trimmed:
        return []
    if trimmed.startswith((".", "/")):
        return [Path(trimmed)]
    carried = carried_root() if root == FIXTURES else None
    return [root / trimmed, Path(trimmed), *([carried / trimmed] if carried else [])]


def suite_folder(reference: str) -> Path:
    """The folder of the suite that `reference` (a name or a folder's path) means; under `fixtures/` where there is
    none."""
    here = Path(reference)
    found = [here, *places(reference)]
    return next((each for each in found if (each / "suite.toml").is_file()), FIXTURES / reference)


def portable(folder: Path) -> str:
    """A suite's folder as a run remembers it: of a carried one the name alone, for it lies elsewhere on every machine
    and in every release."""
    return folder.name if is_carried(folder) else folder.as_posix()


def carried_note(folder: Path) -> str:
    """What a person should know of where a suite was found; empty where there is no choice of two."""
    name, root = folder.name, carried_root()
    if is_carried(folder):
        return f"{name} is the suite that eval-ledger carries; a suite of your own in fixtures/{name} would go first."
    if root is None or folder != FIXTURES / name or not (root / name / "suite.toml").is_file():
        return ""
    if folder.resolve() == (root / name).resolve():
        return ""
    return f"{name} is fixtures/{name} here, which goes before the suite of that name that eval-ledger carries."


def is_carried(folder: Path) -> bool:
    """Whether a suite's folder is one of those that the package carries."""
    root = carried_root()
    return root is not None and folder.parent == root
