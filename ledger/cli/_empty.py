"""Paths that are given and empty, as by `--db "$UNSET"`: refused by name, since Path("") is the folder one is in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import typer

__all__ = ["refuse_empty_paths"]


def refuse_empty_paths(command: Any) -> None:
    """Have every parameter of a command (and of those below it) that takes a path refuse an empty one: BadParameter."""
    for each in getattr(command, "commands", {}).values():
        refuse_empty_paths(each)
    for parameter in command.params:
        annotation = parameter.type_descriptor.annotation
        if Path in (annotation, *get_args(annotation)):
            parameter.process_value = _not_empty(parameter, parameter.process_value)


def _not_empty(parameter: Any, process: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(context: Any, value: Any) -> Any:
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            raise typer.BadParameter("it is empty; expected a path", ctx=context, param=parameter)
        return process(context, value)

    return checked
