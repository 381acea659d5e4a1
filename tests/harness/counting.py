"""A model server that keeps its own books: what it charged for, token by token, whatever became of the reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.harness.models import Answer, ModelServer, model_server

__all__ = ["Books", "counting_server", "down", "limited", "silent", "told", "truncated", "unreadable"]

Maker = Callable[[str, int], tuple[Answer, tuple[int, int, int]]]
"""From a prompt and the number of the call to the answer, and the tokens it is charged for: new, cached, answered."""


@dataclass
class Books:
    """`charged` has (new, cached, answered) tokens of every call that was charged for."""

    server: ModelServer | None = None
    charged: list[tuple[int, int, int]] = field(default_factory=list)
    calls: int = 0

    def cost(self, new: str, cached: str, answered: str) -> Decimal:
        """What it all comes to, at so much a million tokens."""
        prices = Decimal(new), Decimal(cached), Decimal(answered)
        return (
            sum(
                (
                    sum((price * count for price, count in zip(prices, call, strict=True)), Decimal(0))
                    for call in self.charged
                ),
                Decimal(0),
            )
            / 1_000_000
        )

    @property
    def tokens(self) -> int:
        return sum(sum(call) for call in self.charged)


def _reply(text: str, new: int, cached: int, answered: int, finish: str = "stop") -> Answer:
    usage = {
        "prompt_tokens": new + cached, "completion_tokens": answered, "total_tokens": new + cached + answered,
        "prompt_tokens_details": {"cached_tokens": cached},
    }  # fmt: skip
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    body: dict[str, Any] = {"id": "c", "model": "scripted-1", "choices": [choice], "usage": usage}
    return Answer(body=json.dumps(body).encode())


def told(text: str, new: int, answered: int, cached: int = 0) -> tuple[Answer, tuple[int, int, int]]:
    """A whole answer that tells what it is charged for."""
    return _reply(text, new, cached, answered), (new, cached, answered)


def truncated(text: str, new: int, answered: int) -> tuple[Answer, tuple[int, int, int]]:
    """An answer that ends at the token limit."""
    return _reply(text[: len(text) // 2], new, 0, answered, "length"), (new, 0, answered)


def unreadable(new: int, answered: int) -> tuple[Answer, tuple[int, int, int]]:
    """Words where JSON was asked for."""
    return told("I would rather not say.", new, answered)


def down(status: int = 500) -> tuple[Answer, tuple[int, int, int]]:
    """An error status: nothing is charged."""
    return Answer(status=status, body=b'{"error": {"message": "down"}}'), (0, 0, 0)


def limited() -> tuple[Answer, tuple[int, int, int]]:
    """Too many requests: nothing is charged."""
    headers = (("Content-Type", "application/json"), ("Retry-After", "0"))
    return Answer(status=429, body=b'{"error": {"message": "slow down"}}', headers=headers), (0, 0, 0)


def silent(text: str) -> tuple[Answer, tuple[int, int, int]]:
    """A whole answer that tells no usage, and is charged for."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Answer(body=json.dumps({"id": "c", "model": "scripted-1", "choices": [choice]}).encode()), (9, 0, 9)


@contextmanager
def counting_server(make: Maker) -> Generator[Books]:
    """Serve what `make` says, and keep the books."""
    books, lock = Books(), threading.Lock()

    def answer(prompt: str) -> Answer:
        with lock:
            books.calls += 1
            number = books.calls
        made, charge = make(prompt, number)
        with lock:
            if any(charge):
                books.charged.append(charge)
        return made

    with model_server(answer) as server:
        books.server = server
        yield books
