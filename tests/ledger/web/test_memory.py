"""What a server keeps: made once, made again only where something touched it, and nothing of before a redaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ledger import Draft, Ledger, kinds
from ledger.web._memory import Kept, Memory
from tests.ledger.ledgers import OTHER_RUN, RUN, example_draft, withhold


class Work:
    """Counts how often it is done; `slow` makes it dear."""

    def __init__(self, slow: float = 0.0) -> None:
        self.times = 0
        self.slow = slow

    def __call__(self, ledger: Ledger) -> tuple[int, int]:
        self.times += 1
        time.sleep(self.slow)
        return self.times, ledger.head()[0]


@contextmanager
def moment(path: Path) -> Iterator[tuple[Ledger, int]]:
    with Ledger.open(path, read_only=True) as ledger, ledger.at_one_moment():
        yield ledger, ledger.head()[0]


def ask(memory: Memory, work: Callable[[Ledger], object], run: str = RUN, *, own: bool = False) -> Kept[object]:
    with moment(memory.path) as (ledger, size):
        return memory.kept(ledger, size, run, "key", work, own=own)


def add(path: Path, *drafts: Draft) -> int:
    with Ledger.open(path) as ledger:
        return ledger.append(*drafts)[-1].seq


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it didn't come about"
        time.sleep(0.01)


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    add(path, example_draft("plan"), example_draft("plan", run=OTHER_RUN))
    found = Memory(path)
    yield found
    found.close()


def test_what_nothing_touched_is_made_once(memory: Memory) -> None:
    work = Work()
    first = ask(memory, work)
    seq = add(memory.path, example_draft("cell", run=OTHER_RUN), Draft(kinds.Note(text="beside")))
    again = ask(memory, work)
    assert (work.times, first.value, again.value) == (1, again.value, first.value)
    assert again.current
    assert again.size == first.size == seq - 2


def test_an_event_of_the_run_has_it_made_again_at_once_where_it_is_quick(memory: Memory) -> None:
    work = Work()
    ask(memory, work)
    seq = add(memory.path, example_draft("cell"))
    assert ask(memory, work) == Kept((2, seq), seq, current=True)


def test_a_taint_touches_every_run_but_not_what_rests_on_its_own_events_alone(memory: Memory) -> None:
    work, own = Work(), Work()
    ask(memory, work)
    with moment(memory.path) as (ledger, size):
        memory.kept(ledger, size, RUN, "own", own, own=True)
    add(memory.path, Draft(kinds.Taint(target=kinds.Target(what="run", id=OTHER_RUN), reason="odd")))
    ask(memory, work)
    with moment(memory.path) as (ledger, size):
        memory.kept(ledger, size, RUN, "own", own, own=True)
    assert (work.times, own.times) == (2, 1)


def test_what_is_dear_is_given_as_it_was_and_made_again_behind(memory: Memory) -> None:
    work = Work(slow=0.3)
    first = ask(memory, work)
    seq = add(memory.path, example_draft("cell"))
    start = time.monotonic()
    older = ask(memory, work)
    assert time.monotonic() - start < 0.25
    assert (older.value, older.size, older.current) == (first.value, first.size, False)
    until(lambda: ask(memory, work).current)
    assert ask(memory, work) == Kept((2, seq), seq, current=True)


def test_many_who_ask_at_once_have_it_made_once(memory: Memory) -> None:
    work = Work(slow=0.2)
    found: list[Kept[object]] = []
    threads = [threading.Thread(target=lambda: found.append(ask(memory, work))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert work.times == 1
    assert [each.value for each in found] == [found[0].value] * 8


def test_one_that_fails_lets_the_next_one_try(memory: Memory) -> None:
    def fail(ledger: Ledger) -> object:
        raise ValueError(ledger.path)

    with pytest.raises(ValueError, match="ledger"):
        ask(memory, fail)
    assert ask(memory, Work()).current


def test_nothing_of_before_a_redaction_is_kept_not_even_as_an_older_state(memory: Memory) -> None:
    secret = add(memory.path, Draft(kinds.Note(text="the secret"), run=RUN))

    def text(ledger: Ledger) -> object:
        time.sleep(0.2)
        return ledger.event(secret).body

    assert "the secret" in str(ask(memory, text).value)
    withhold(memory.path, [secret], [])
    found = ask(memory, text)
    assert (found.value, found.current) == (None, True)


def test_what_was_being_made_of_before_a_redaction_is_not_kept(memory: Memory) -> None:
    secret = add(memory.path, Draft(kinds.Note(text="the secret"), run=RUN))
    with moment(memory.path) as (ledger, size):

        def text(held: Ledger) -> object:
            # Meanwhile it is withheld, and another page sees that.
            withhold(memory.path, [secret], [])
            with moment(memory.path) as (other, later):
                memory.touched(other, later, "")
            time.sleep(0.2)
            return held.event(secret).body

        assert "the secret" in str(memory.kept(ledger, size, RUN, "key", text).value)
    assert ask(memory, lambda held: held.event(secret).body).value is None


def test_a_page_of_an_older_moment_is_never_given_what_came_after_it(memory: Memory) -> None:
    work = Work()
    with moment(memory.path) as (held, size):
        add(memory.path, example_draft("cell"))
        newer = ask(memory, work)
        older = memory.kept(held, size, RUN, "key", work)
    assert older.size == size < newer.size
    assert older.value == (2, size)
    assert ask(memory, work) == newer


def test_a_whole_is_never_made_of_an_older_part(memory: Memory) -> None:
    part = Work(slow=0.3)

    def whole(ledger: Ledger) -> object:
        return memory.kept(ledger, ledger.head()[0], RUN, "part", part).value

    ask(memory, whole)
    seq = add(memory.path, example_draft("cell"))
    # Dear by its part: so it is given as it was, and not waited for.
    assert not ask(memory, whole).current
    until(lambda: ask(memory, whole).current)
    assert ask(memory, whole).value == (2, seq)


def test_a_whole_of_a_dear_part_that_was_there_is_dear_itself(memory: Memory) -> None:
    part = Work(slow=0.3)
    with moment(memory.path) as (ledger, size):
        memory.kept(ledger, size, RUN, "part", part)

    def whole(ledger: Ledger) -> object:
        return memory.kept(ledger, ledger.head()[0], RUN, "part", part).value

    ask(memory, whole)
    add(memory.path, example_draft("cell"))
    assert not ask(memory, whole).current


def test_soon_waits_so_long_and_no_longer(memory: Memory) -> None:
    work = Work(slow=0.5)
    with moment(memory.path) as (ledger, size):
        start = time.monotonic()
        assert memory.soon(ledger, size, RUN, "key", work, patience=0.05) is None
        assert time.monotonic() - start < 0.4
        found = memory.soon(ledger, size, RUN, "key", work, patience=20)
    assert found == Kept((1, size), size, current=True)


def test_what_soon_didn_t_have_is_awaited_until_it_is_there_and_by_whom_it_is_about(memory: Memory) -> None:
    gate = threading.Event()
    with moment(memory.path) as (ledger, size):
        assert not memory.awaits("")
        assert memory.soon(ledger, size, RUN, "key", lambda ledger: gate.wait(20), patience=0) is None
        assert (memory.awaits(RUN), memory.awaits(""), memory.awaits(OTHER_RUN)) == (True, True, False)
        time.sleep(0.6)
        start = time.monotonic()
        assert memory.soon(ledger, size, RUN, "key", lambda ledger: False, patience=0.5) is None
        assert time.monotonic() - start < 0.4
        gate.set()
        found = memory.soon(ledger, size, RUN, "key", lambda ledger: False, patience=20)
        assert found == Kept(True, size, current=True)
        until(lambda: not memory.awaits(""))


def test_what_was_made_of_a_later_moment_while_somebody_waited_is_not_current_for_him(memory: Memory) -> None:
    work, held = Work(), threading.Event()
    found: list[Kept[object] | None] = []

    def wait_for_it() -> None:
        with moment(memory.path) as (ledger, size):
            found.append(memory.soon(ledger, size, RUN, "key", work, patience=20, own=True))

    with moment(memory.path) as (ledger, before):
        memory.soon(ledger, before, OTHER_RUN, "first", lambda ledger: held.wait(20), patience=0)
    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    until(lambda: "key" in memory._waiting)
    later = add(memory.path, example_draft("cell"))
    held.set()
    waiting.join()
    assert found == [Kept((1, later), later, current=False)]


def test_what_is_made_after_a_redaction_is_not_current_for_a_page_of_before_it(memory: Memory) -> None:
    work = Work()
    withheld = add(memory.path, example_draft("cell"))
    with moment(memory.path) as (ledger, size):
        memory.touched(ledger, size, "")
        withhold(memory.path, [withheld], [])
        assert ask(memory, work, own=True).value == (1, size + 1)
        assert memory.kept(ledger, size, RUN, "key", work, own=True) == Kept((2, size), size, current=True)


def test_soon_tells_whoever_asks_what_is_wrong(memory: Memory) -> None:
    def fail(ledger: Ledger) -> object:
        raise ValueError(ledger.path)

    with moment(memory.path) as (ledger, size), pytest.raises(ValueError, match="ledger"):
        memory.soon(ledger, size, RUN, "key", fail, patience=20)


def test_what_holds_much_goes_before_memory_grows_without_bound(memory: Memory) -> None:
    made: list[int] = []

    def rows(number: int) -> Callable[[Ledger], object]:
        return lambda ledger: made.append(number) or [ledger.path] * 250_000

    with moment(memory.path) as (ledger, size):
        for number in (1, 2, 3, 3, 2, 1):
            memory.kept(ledger, size, RUN, number, rows(number))
    assert made == [1, 2, 3, 1]


def test_the_newest_event_that_matters_is_told_for_a_run_and_for_all(memory: Memory) -> None:
    with moment(memory.path) as (ledger, size):
        assert memory.touched(ledger, size, RUN) == memory.touched(ledger, size, "") == size
    mine = add(memory.path, example_draft("cell"))
    last = add(memory.path, *[example_draft("cell", run=OTHER_RUN, cell=each) for each in range(1, 4)])
    with moment(memory.path) as (ledger, size):
        assert (memory.touched(ledger, size, RUN), memory.touched(ledger, size, OTHER_RUN)) == (mine, last)
        assert memory.touched(ledger, size, "") == size == last


def test_a_room_is_made_once_and_closed_with_the_memory(memory: Memory) -> None:
    class Room:
        closed = False

        def close(self) -> None:
            self.closed = True

    room = memory.room("a", Room)
    assert memory.room("a", Room) is room
    memory.close()
    assert room.closed
    work = Work()
    ask(memory, work)
    ask(memory, work)
    assert work.times == 2, "what is closed keeps nothing"
