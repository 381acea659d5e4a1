"""What a new suite starts from, scorer by scorer: its prompt's last lines, its rule file, and a worked example."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from harness._errors import UsageError

__all__ = ["KITS", "Kit", "example_cases", "find_kit"]

_HEAD: Final = """\
about = {about}

[read]
reasoning = true      # a model's reasoning ahead of the answer, in <think> tags, is passed over
bom = true
{reading}
[score]
scorer = "{name}"
"""


@dataclass(frozen=True)
class Kit:
    """`ask` is how a reply is read, `tail` what the prompt says last, `options` the lines of [score] below the scorer,
    `about` the rule file's first line. `inputs` are the fields of the example; `nothing` is the gold, as JSON text, of
    a case in which nothing is expected, None where the scorer knows no such thing."""

    name: str
    ask: str
    about: str
    tail: str
    options: str
    inputs: Sequence[str] = ("question",)
    nothing: str | None = None

    def rules(self, options: str = "") -> str:
        """The rule file."""
        reading = "" if self.ask == "text" else "fence = true          # one code fence around it is passed over\n"
        head = _HEAD.format(about=json.dumps(self.about), name=self.name, reading=reading)
        return head + (options or self.options)


KITS: Final[Mapping[str, Kit]] = {
    each.name: each
    for each in (
        Kit(
            "exact", "text", "The whole answer is the gold one; case, outer punctuation and white space don't count.",
            "Answer in as few words as you can, and write nothing else.",
            'at = "whole"          # or "first_line", "last_line", or "after" with marker = "Answer:"\n'
            'normalise = "label/2"   # what of a text doesn\'t count\n',
        ),
        Kit(
            "includes", "text", "The gold stands in the answer as words of their own, whatever stands around it.",
            "Answer in one sentence.",
            'at = "whole"          # or "after" with marker = "Answer:"\n',
        ),
        Kit(
            "choice", "text", "The answer names one option, by its letter or its text; two options are no answer.",
            "Answer with the letter of the one right option, and write nothing else.",
            'at = "anywhere"       # the one option that it names; with "whole" nothing may stand around it\n',
            ("question", "options"),
        ),
        Kit(
            "number", "text", "The answer is one number, equal to the gold.",
            "Answer with the number alone, without a unit.",
            'at = "anywhere"       # the one number in it; with "whole" nothing may stand around it\n'
            'decimal = "."\n'
            '# thousands = ","    # 1,000 may be a thousand or one, and is refused unless this says which\n'
            '# units = ["kg"]     # a unit is refused unless it stands here\n'
            "# tolerance = 0.5    # how far off is right all the same\n",
        ),
        Kit(
            "regex", "text", "What the pattern's first group takes out of the answer is the gold.",
            "Think it through in a few sentences. Then end with one line of the form\nAnswer: …",
            "pattern = '(?im)^[#>*_\\s]*(?:the )?(?:final )?answer[*_]*[ \\t]*:[*_ \\t]*(.+?)[*_\\s]*$'   # RE2\n"
            "# the first group of the pattern is the answer; two that differ are no answer\n"
            'normalise = "label/2"   # what of it does not count\n',
        ),
        Kit(
            "json", "object", "The answer is a JSON object whose fields are those of the gold.",
            "Answer with one JSON object with the keys KEYS, and write nothing else.",
            "",
            ("text",),
        ),
        Kit(
            "f1", "array", "The answer is a JSON list; what of the gold's items is in it, and what else.",
            "Answer with a JSON list of texts, [] if there is none, and write nothing else.",
            "",
            ("text",),
            "[]",
        ),
        Kit(
            "quote", "text", "The answer is a passage that stands in the text word for word.",
            "Answer with the one passage of the text that says it, word for word, and write nothing else.",
            "",
            ("text", "question"),
            '""',
        ),
    )
}  # fmt: skip


def find_kit(name: str) -> Kit:
    """The kit of a scorer. Raises UsageError, saying what there is."""
    from harness.suites.manifest import SCORERS

    there = [each for each in KITS if each in SCORERS]
    if name not in there:
        raise UsageError(f"--score: expected one of {', '.join(there)}, got {name!r}")
    return KITS[name]


def example_cases(kit: Kit) -> bytes:
    """The worked example of a scorer, as a cases.jsonl."""
    return (files("harness") / "examples" / f"{kit.name}.jsonl").read_bytes()
