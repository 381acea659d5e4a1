"""A suite of many small questions, and a model behind real HTTP that limits its rate and runs out of credit.

The server keeps count for itself: when each request came, whether it was let in, and the tokens that it charged.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.limiters import Limiter
from tests.harness.models import Answer

__all__ = ["Limited", "questions"]

NO_CREDIT = json.dumps({"error": {"message": "no credit left", "code": "insufficient_quota"}}).encode()
TOO_FAST = json.dumps({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}).encode()


def questions(folder: Path, count: int) -> Path:
    """A suite without Python: each case asks for its number back."""
    suite = folder / "fixtures" / "numbers"
    (suite / "v0").mkdir(parents=True)
    (suite / "rules").mkdir()
    (suite / "suite.toml").write_text('name = "numbers"\nstages = "manifest"\nask = "text"\nrules = ["plain"]\n')
    (suite / "rules" / "plain.toml").write_text(
        '[read]\nreasoning = true\n\n[score]\nscorer = "exact"\nat = "whole"\nnormalise = "label"\n'
    )
    cases = [{"id": f"c{at:04}", "input": f"Say {at}", "gold": str(at)} for at in range(count)]
    (suite / "v0" / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return suite


@dataclass
class Limited:
    """Answers at its limiter's pace until `credit` answers are given; `names_wait` sends Retry-After (seconds)."""

    limiter: Limiter | None = None
    credit: int | None = None
    names_wait: bool = False
    delay: float = 0.0
    asked: list[tuple[float, str]] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, prompt: str) -> Answer:
        with self._lock:
            now = time.monotonic()
            wait = self.limiter.refuses(now) if self.limiter is not None else None
            broke = wait is None and self.credit is not None and self.count("let_in") >= self.credit
            verdict = "refused" if wait is not None else "broke" if broke else "let_in"
            self.asked.append((now, verdict))
            if verdict == "let_in":
                number = int(prompt.split()[-1])
                self.tokens.update(input=10 + number % 7, output=1 + number % 3)
        if wait is not None:
            named = (("Retry-After", str(max(1, round(wait + 0.5)))),) if self.names_wait else ()
            return Answer(status=429, body=TOO_FAST, headers=(("Content-Type", "application/json"), *named))
        if broke:
            return Answer(status=429, body=NO_CREDIT)
        return Answer(body=_reply(prompt.split()[-1]), delay=self.delay)

    def count(self, verdict: str, since: float = 0.0, until: float = float("inf")) -> int:
        """How many requests came to that, by seconds since the first."""
        began = self.asked[0][0] if self.asked else 0.0
        return sum(each == verdict and since <= at - began < until for at, each in self.asked)

    def busiest_second(self) -> int:
        """The most requests, let in or not, that came within any second, but for the first three."""
        times = [at for at, _ in self.asked if at - self.asked[0][0] >= 3]
        return max((sum(start <= at < start + 1 for at in times) for start in times), default=0)

    def span(self) -> float:
        """Seconds from the first that was let in to the last."""
        times = [at for at, verdict in self.asked if verdict == "let_in"]
        return times[-1] - times[0]


def _reply(number: str) -> bytes:
    usage = {"prompt_tokens": 10 + int(number) % 7, "completion_tokens": 1 + int(number) % 3}
    return json.dumps({
        "id": "c", "object": "chat.completion", "model": "scripted-1", "created": 1,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": number}}],
        "usage": usage | {"total_tokens": sum(usage.values())},
    }).encode()  # fmt: skip
