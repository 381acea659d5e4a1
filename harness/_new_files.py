"""The files of a new suite, as text: what they say to the one who goes on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from harness._new_kits import Kit
from harness.suites.manifest._input import EXTRAS, MESSAGES
from harness.suites.manifest._prompt import place

__all__ = ["IGNORED", "eval_file", "ignored", "prompt_file", "readme_file", "suite_file"]

IGNORED = ("ledger.db", "ledger.db-wal", "ledger.db-shm", "*.locks/", ".env", "runs/")
"""What a repository leaves out. Checkpoints (ledger.db.checkpoints/) and reports stay in."""


def suite_file(name: str, ask: str, *, prompt: bool) -> str:
    """suite.toml."""
    asks = 'prompt = "question"     # prompts/question.txt\n' if prompt else "# no prompt: the cases hold messages\n"
    return (
        "# What is asked. How a reply is read and scored stands in rules/, the cases in v1/cases.jsonl.\n"
        f'name = "{name}"\n'
        'stages = "manifest"\n'
        f'ask = "{ask}"\n'
        f"{asks}"
        "\n"
        "[parameters]\n"
        "# What every model is asked with, under the provider's own names; without a line, the provider's default.\n"
        "# temperature = 0\n"
        "# The most tokens of a reply. A model that thinks first needs more, 8192 say; one with another name for it,\n"
        "# -M max_tokens=null -M max_completion_tokens=8192. A budget needs a limit to bound a call that breaks off.\n"
        "max_tokens = 1024\n"
    )


_LISTS: Mapping[str, str] = {
    "letters": "{% for option in options %}\n{{ 'A-Z'[loop.index0] }}. {{ option }}\n{% endfor %}",
    "keys": "{% for letter, option in options | items %}\n{{ letter }}. {{ option }}\n{% endfor %}",
    "texts": "{% for option in options %}\n- {{ option }}\n{% endfor %}",
    "texts_of_keys": "{% for letter, option in options | items %}\n- {{ option }}\n{% endfor %}",
}


def prompt_file(fields: Sequence[str], optional: Sequence[str], *, listing: str, tail: str) -> str:
    """prompts/question.txt; "" where the cases hold messages and nothing has to be said beside them.

    `optional` are those of the fields that a case may lack; `listing` says how options stand in it, "" for none.
    """
    named = [field for field in fields if field not in (MESSAGES, *EXTRAS)]
    if MESSAGES in fields:
        body = "\n\n".join(_where_there(place(field), field, optional) for field in named)
        return f"=== messages ===\n=== user ===\n{body}\n" if body else ""
    lines = [place(field) if len(named) == 1 else f"{_heading(field)}:\n{place(field)}" for field in named]
    if listing:
        lines.append(_LISTS[listing].replace("A-Z", ascii_uppercase))
    return "\n\n".join([*lines, tail]) + "\n"


def _where_there(placed: str, field: str, optional: Sequence[str]) -> str:
    """A field's place, passed over in a case that lacks it."""
    return f"{{% if {placed[3:-3]} is defined %}}{placed}{{% endif %}}" if field in optional else placed


def _heading(field: str) -> str:
    """A field's name as a heading; braces would begin something in a template."""
    words = " ".join(field.replace("_", " ").replace("{", "(").replace("}", ")").split())
    return words[:1].upper() + words[1:]


def readme_file(name: str, kit: Kit, count: int, came_from: str, *, prompt: bool) -> str:
    """The suite's README: what to change, and what comes next."""
    asked = (
        "| `prompts/question.txt` | what the model is asked; `{{ field }}` is a field of the case's input |\n" * prompt
    )
    return f"""\
# {name}

{count} cases{came_from}, scored with `{kit.name}`. Everything here is a file to be edited; nothing is Python.

| File | What to change there |
|---|---|
{asked}| `rules/{kit.name}.toml` | how a reply is read and scored; a second file is a second rule set |
| `v1/cases.jsonl` | the cases: `id`, `input` (what may be asked), `gold` (what only scoring sees), `meta` (labels) |
| `suite.toml` | parameters that every model is asked with |

Once cases were run, leave `v1` as it is and put changed ones into `v2/`: what was measured on which stays plain.

Next:

    harness run {name} --limit 5 --engine openai/gpt-4.1-mini     # a first look, five cases
    harness run {name} --engine openai/gpt-4.1-mini --engine anthropic/claude-sonnet-5
    harness report latest
    harness compare latest@openai/gpt-4.1-mini latest@anthropic/claude-sonnet-5
"""


def eval_file(name: str) -> str:
    """An eval.toml: what `harness run` does when nothing is named."""
    return f"""\
# What `harness run` asks for when it is called without arguments.
suite = "{name}"
models = []
# models = ["openai/gpt-4.1-mini", "anthropic/claude-sonnet-5", "ollama/llama3.2"]
# epochs = 1                      # how often each case is asked
# prompts = ["question"]          # files in the suite's prompts/; several are compared with one another
# max_cost = "2.50"               # stop asking there; needs prices.toml
"""


def ignored(before: str) -> tuple[str, tuple[str, ...]]:
    """A .gitignore with what is missing added, and what was."""
    there = {line.strip().lstrip("/") for line in before.splitlines()}
    missing = tuple(entry for entry in IGNORED if entry not in there and entry.rstrip("/") not in there)
    if not missing:
        return before, ()
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    head = "# eval-ledger: the ledger and keys stay here; commit its checkpoints (ledger.db.checkpoints/) and reports\n"
    return before + gap + head + "".join(entry + "\n" for entry in missing), missing
