"""Variants: a manifest that extends another changes whom to ask, how, and with which prompt, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from harness._errors import SuiteError
from harness.rubrics._files import decoded, file_inside, shown
from harness.rubrics._table import Table, got

__all__ = ["Layer", "resolve"]

_OF_A_VARIANT = ("name", "about", "extends", "judge", "sampling", "prompt")
_MOST = 8


@dataclass(frozen=True)
class Layer:
    """A manifest of a chain: its folder, and its table."""

    folder: Path
    table: Table


def resolve(folder: Path, values: Mapping[str, Any]) -> tuple[Layer, ...]:
    """The chain of manifests from the one in `folder` to the one that extends none, which comes last.

    Raises SuiteError for a key that a variant can't have, for a chain that leads back to itself, and for a base that
    isn't there.
    """
    layers = [Layer(folder, Table(shown(folder / "suite.toml"), "", values))]
    seen = {_resolved(layers[0].table, folder)}
    while "extends" in layers[-1].table.values:
        last = layers[-1]
        _check_variant(last.table)
        base = _base_folder(last)
        place = _resolved(last.table, base)
        if place in seen:
            chain = " extends ".join([*(shown(each.folder) for each in layers), shown(base)])
            raise last.table.fault("extends", f"leads round in a circle: {chain}")
        if len(layers) > _MOST:
            raise last.table.fault("extends", f"expected a chain of at most {_MOST} variants")
        seen.add(place)
        layers.append(Layer(base, Table(shown(base / "suite.toml"), "", _read(last, base))))
    return tuple(layers)


def _resolved(table: Table, folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else "a link leads round in a circle"
        raise table.fault("extends", f"{shown(folder)[:200]} can't be read: {said}") from None


def _check_variant(table: Table) -> None:
    for key in table.values:
        if key not in _OF_A_VARIANT:
            raise table.fault(
                key if len(key) <= 64 else "",
                f"a variant changes the judge and nothing else; expected only {', '.join(_OF_A_VARIANT)}",
            )


def _base_folder(layer: Layer) -> Path:
    given = layer.table.text("extends")
    if PurePosixPath(given).is_absolute() or PureWindowsPath(given).is_absolute():
        raise layer.table.fault(
            "extends", f'expected a path relative to this folder, such as "../other", got {got(given)}'
        )
    return layer.folder / given


def _read(layer: Layer, base: Path) -> dict[str, Any]:
    where = f"{layer.table.file}: extends"
    try:
        there = (base / "suite.toml").exists()
    except OSError as error:
        raise SuiteError(f"{where}: {shown(base)[:200]} can't be read: {error.strerror}") from None
    if not there:
        raise SuiteError(f"{where}: there is no suite.toml in {shown(base)}; the path is relative to this folder")
    text = decoded(file_inside(base, "suite.toml", where), where)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{shown(base / 'suite.toml')}: expected TOML, got text that isn't: {error}") from None
