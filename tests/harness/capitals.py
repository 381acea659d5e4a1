"""A suite without Python in a folder of its own, and an eval.toml beside it; servers on loopback answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.experiments import Experiment
from tests.harness.models import Answer, ModelServer

__all__ = ["CAPITALS", "Capitals", "knows"]

CAPITALS = {
    "France": ("Paris", "europe", 1), "Italy": ("Rome", "europe", 1), "Norway": ("Oslo", "europe", 2),
    "Japan": ("Tokyo", "asia", 1), "Nepal": ("Kathmandu", "asia", 3), "Peru": ("Lima", None, 2),
}  # fmt: skip


@dataclass
class Capitals(Experiment):
    """Six cases with labels, two prompts, two rule sets."""

    def __post_init__(self) -> None:
        suite = self.folder / "fixtures" / "capitals"
        for name in ("prompts", "rules", "v0"):
            (suite / name).mkdir(parents=True)
        (suite / "suite.toml").write_text(
            'name = "capitals"\nstages = "manifest"\nask = "text"\nprompt = "plain"\n\n[parameters]\ntemperature = 0\n'
        )
        (suite / "prompts/plain.txt").write_text("What is the capital of {{ input }}?\n")
        (suite / "prompts/terse.txt").write_text("Capital of {{ input }}:\n")
        (suite / "rules/strict.toml").write_text('[read]\n\n[score]\nscorer = "exact"\nnormalise = "label"\n')
        lines = [
            json.dumps({
                "id": country, "input": country, "gold": city,
                "meta": {"level": level} if region is None else {"region": region, "level": level},
            })
            for country, (city, region, level) in CAPITALS.items()
        ]  # fmt: skip
        (suite / "v0/cases.jsonl").write_text("\n".join(lines) + "\n")

    @property
    def suite(self) -> Path:
        return self.folder / "fixtures" / "capitals"

    def eval(self, text: str) -> None:
        (self.folder / "eval.toml").write_text(text)

    def words(self, *arguments: str, expect: int = 0) -> tuple[str, str]:
        """What a `harness` command says to people, on stdout and on stderr."""
        process = self.start("harness", *arguments)
        out, errors = process.communicate(timeout=120)
        assert process.returncode == expect, f"exit {process.returncode}, expected {expect}\n{out}\n{errors}"
        assert "Traceback" not in errors
        return out, errors

    def candidates(self) -> dict[str, Any]:
        return {each["label"]: each for plan in self.bodies("plan") for each in plan["candidates"]}


def knows(*countries: str) -> Any:
    """A model that knows these capitals and says Nowhere of all others."""

    def answer(prompt: str) -> Answer:
        (country,) = [name for name in CAPITALS if re.search(rf"\b{name}\b", prompt)]
        return Answer(CAPITALS[country][0] if country in countries else "Nowhere")

    return answer


def sent(server: ModelServer) -> list[Any]:
    return [json.loads(body) for _, body in server.requests]
