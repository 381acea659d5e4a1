"""The template language of a prompt: Jinja2, sandboxed, and cut down so that it ends, and says the same every time.

Jinja's own sandbox keeps a template away from Python; it doesn't keep it from running for ever (`range` in `range`,
`"x" * 10 ** 9`). So what may stand in a template is a list, every loop and filter is charged by what it looks at, and
the text it makes has an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, cast

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError, nodes, pass_context
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from harness._json import JSON
from harness.suites.manifest._filters import FILTERS, MAX_TEXT, default, size, text

__all__ = ["Filled", "Work", "compile_part"]

_MAX_WORK = 50_000_000
_MAX_NUMBER = 10**18
_WORK, _EACH = " work", " each"  # no template can name them

_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.If, nodes.For, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.Filter, nodes.Test, nodes.Keyword, nodes.Add, nodes.Sub, nodes.Mul, nodes.Mod, nodes.FloorDiv, nodes.Neg,
    nodes.Pos, nodes.Tuple, nodes.List,
)  # fmt: skip
_TESTS = frozenset([
        "boolean", "defined", "eq", "equalto", "even", "false", "ge", "gt", "greaterthan", "in", "integer",
    "iterable", "le", "lessthan", "lower", "lt", "mapping", "ne", "none", "number", "odd", "sequence", "string",
    "true", "undefined", "upper", "==", "!=", ">", ">=", "<", "<=",
])  # fmt: skip
_LOOP = frozenset([
    "index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem", "nextitem",
])  # fmt: skip
_WHY: Mapping[type, str] = MappingProxyType({
    nodes.Call: "nothing can be called in a prompt; a filter does it, as in {{ fields | items }} or {{ name | upper }}",
    nodes.Assign: "`set` has no place in a prompt; write the value where it goes",
    nodes.AssignBlock: "`set` has no place in a prompt; write the value where it goes",
    nodes.Concat: "`~` has no place in a prompt; write the two side by side, as in {{ a }}{{ b }}",
    nodes.Include: "a prompt is one file; nothing can be included",
    nodes.Import: "a prompt is one file; nothing can be imported",
    nodes.FromImport: "a prompt is one file; nothing can be imported",
    nodes.Extends: "a prompt is one file; nothing can be extended",
})  # fmt: skip


class _Missing(StrictUndefined):
    """A name that isn't there. The one who asks for the text adds what is."""

    @property
    def _undefined_message(self) -> str:
        name = repr(str(self._undefined_name))[1:-1][:80]
        if self._undefined_hint:
            return self._undefined_hint
        if isinstance(self._undefined_obj, Mapping):
            there = ", ".join(repr(str(each))[1:-1][:40] for each in list(cast("Any", self._undefined_obj))[:12])
            return f"the prompt names {name}, and what it is taken from has {there or 'no fields'}"
        taken_from: Any = self._undefined_obj
        if isinstance(taken_from, list | str) and not isinstance(self._undefined_name, int):
            kind = "a text" if isinstance(taken_from, str) else "a list"
            return f"the prompt names {name} of {kind}, which has no fields"
        if isinstance(taken_from, list | str):
            return f"the prompt asks for {name} of what has {len(cast('Any', taken_from))}, counted from 0"
        return f"the prompt names {name}, which is not there"


class Work:
    """What one case may cost. A step is charged more where the case is longer, since one step may look through it."""

    def __init__(self, case_input: JSON) -> None:
        self.left = _MAX_WORK
        self._step = 1 + size(case_input) // 4096

    def take(self, steps: int) -> None:
        """Raises ValueError when the case has had its share."""
        self.left -= steps * self._step
        if self.left < 0:
            raise ValueError("the prompt goes through too much for one case; loop over less")


@dataclass(frozen=True)
class Filled:
    """A part of a template, ready to be filled in. `names` are those it takes from the case."""

    template: Template
    names: frozenset[str]

    def render(self, values: Mapping[str, JSON], work: Work) -> str:
        """The text. Raises ValueError with one sentence, naming what is missing and what the case has."""
        pieces: list[str] = []
        length = 0
        try:
            for piece in self.template.generate({**values, _WORK: work}):
                length += len(piece)
                if length > MAX_TEXT:
                    raise ValueError(f"the prompt comes to more than {MAX_TEXT} characters for one case")
                pieces.append(piece)
        except UndefinedError as error:
            raise ValueError(f"{error.message}; the case has {_listed(values)}") from None
        except (TypeError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
            raise ValueError(f"the prompt can't be filled in: {repr(str(error))[1:-1][:200]}") from None
        return "".join(pieces)


def compile_part(template: str, line: int) -> Filled:
    """One turn's template. `line` is where it begins in its file. Raises ValueError naming the line."""
    environment = _environment()
    try:
        tree = environment.parse(template)
        _check(tree, line)
        names = frozenset(find_undeclared_variables(tree))
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _EACH, [nodes.Const(_weight(loop))], [], None, None, lineno=loop.lineno)
        code = environment.compile(tree)
    except TemplateSyntaxError as error:
        said = (error.message or "it can't be read").rstrip(".")
        raise ValueError(f"line {line - 1 + error.lineno}: {said}") from None
    except RecursionError:
        raise ValueError(f"line {line}: nested too deeply to be read") from None
    return Filled(Template.from_code(environment, code, {}), names)


def _check(tree: nodes.Template, line: int) -> None:
    for node in _walk(tree):
        where = f"line {line - 1 + (node.lineno or 1)}"
        if not isinstance(node, _NODES):
            why = _WHY.get(type(node), f"{type(node).__name__} has no place in a prompt")
            raise ValueError(f"{where}: {why}")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise ValueError(f"{where}: expected a filter out of {', '.join(sorted(FILTERS))}, got {node.name!r}")
        if isinstance(node, nodes.Test) and node.name not in _TESTS:
            raise ValueError(f"{where}: expected a test such as `is defined`, got `is {repr(node.name)[1:-1]}`")
        if isinstance(node, nodes.For) and node.recursive:
            raise ValueError(f"{where}: a loop can't be recursive in a prompt")
        dynamic = isinstance(node, nodes.List | nodes.Tuple) and getattr(node, "ctx", "load") == "load"
        if dynamic and not all(isinstance(item, nodes.Const) for item in cast("Any", node).items):
            raise ValueError(f"{where}: a list in a prompt holds texts and numbers alone")


def _walk(node: nodes.Node) -> Iterable[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


def _weight(loop: nodes.For) -> int:
    return 8 + sum(1 for _ in _walk(loop))


class _Environment(ImmutableSandboxedEnvironment):
    """Items and fields alone: no attribute of any Python object can be reached."""

    intercepted_binops = frozenset({"+", "-", "*", "%", "//"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic on whole numbers of a size that a loop counts to."""
        for each in (left, right):
            if isinstance(each, Undefined):
                str(each)
            if not isinstance(each, int) or isinstance(each, bool) or abs(each) > _MAX_NUMBER:
                raise ValueError(f"`{operator}` in a prompt takes whole numbers; write texts side by side")
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`a.b`: the field of an object, or what a loop knows of itself."""
        if isinstance(obj, LoopContext):
            return cast("Any", obj).__getattribute__(attribute) if attribute in _LOOP else self._no(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`a["b"]`, `a[0]`, `a[1:]`."""
        if isinstance(obj, Undefined):
            str(obj)
        try:
            if isinstance(obj, Mapping) and isinstance(argument, str):
                return cast("Mapping[str, Any]", obj)[argument]
            if isinstance(obj, list | tuple | str) and isinstance(argument, int | slice):
                return cast("Any", obj)[argument]
        except (LookupError, TypeError, ValueError):
            pass
        return self._no(obj, argument)

    def _no(self, obj: Any, argument: Any) -> Any:
        return self.undefined(obj=obj, name=argument)


@cache
def _environment() -> _Environment:
    environment = _Environment(
        undefined=_Missing, autoescape=False, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True,
        finalize=text, cache_size=0, auto_reload=False,
    )  # fmt: skip
    environment.globals = {}
    environment.filters.clear()
    environment.filters.update(cast("Any", {name: _charged(each) for name, each in FILTERS.items()} | {_EACH: _each}))
    return environment


def _charged(function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def charged(context: Context, value: Any, *given: Any, **named: Any) -> Any:
        work = cast("Work", context.resolve(_WORK))
        if function is not default and isinstance(value, Undefined):
            str(value)
        work.take(1 + size(value) // 64)
        made = function(value, *given, **named)
        work.take(1 + size(made) // 64)
        return made

    return charged


@pass_context
def _each(context: Context, value: Any, weight: int) -> Any:
    if isinstance(value, Undefined):
        str(value)
    if not isinstance(value, list | tuple | str | Mapping):
        raise ValueError(f"the prompt loops over {text(value)[:40]!r}, which is no list")
    items = list(cast("Iterable[Any]", value))
    cast("Work", context.resolve(_WORK)).take(weight * len(items))
    return items


def _listed(values: Mapping[str, JSON]) -> str:
    names = [repr(name)[1:-1][:40] for name in values if name != "input"] or ["input"]
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
