"""What pages cost at a million events, beside Datasette's own pages, and what readers cost the writer.

    python bench/web.py [EVENTS | LEDGER] [--one-run]

EVENTS (default 1,000,000) makes a ledger of runs of 1,000 cells, or with --one-run of one run that fills it; LEDGER is
copied. Every page is asked over HTTP of a server in a process of its own: the first time on a server that has just
started, until nothing on it is being worked out ("whole"), then 20 times. Beside it stands Datasette's own page for the
same rows. The writer appends one event at a time, each on disk when the call returns, alone and then while ten clients
ask for pages as fast as they are answered.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import multiprocessing
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent))

from _synthetic import make_ledger

from ledger import Draft, Ledger
from ledger.kinds import Wait

TIMES = 20
CLIENTS = 10
APPENDS = 300
GOAL = {"home": 300, "run": 300, "run, one reason": 300, "cell": 300, "event": 300}
"""Milliseconds that a page may take once it is warm."""


def _serve(path: str, listening: socket.socket) -> None:
    import uvicorn

    from ledger.web import make_datasette

    app = make_datasette(Path(path)).app()
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    server.run(sockets=[listening])


@contextmanager
def served(path: Path) -> Iterator[int]:
    """A server of its own process over a ledger; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(str(path), listening))
    process.start()
    port = int(listening.getsockname()[1])
    try:
        until = time.monotonic() + 60
        while True:
            try:
                asked(port, "/-/versions.json")
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.join()
        listening.close()


def asked(port: int, path: str, connection: http.client.HTTPConnection | None = None) -> tuple[float, int]:
    """Milliseconds to the last byte of a page, and how many bytes there are."""
    here = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    start = time.perf_counter()
    here.request("GET", path)
    answer = here.getresponse()
    data = answer.read()
    took = 1000 * (time.perf_counter() - start)
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status} {data[:300]!r}")
    if connection is None:
        here.close()
    return took, len(data)


def _whole(port: int, path: str) -> tuple[int, float]:
    """Bytes of a page once nothing on it is being worked out, and the seconds that took."""
    start = time.monotonic()
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
            page = answer.read()
        if b' data-awaits="' not in page:
            return len(page), time.monotonic() - start
        time.sleep(0.5)


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _pages(path: Path) -> Sequence[tuple[str, str, str]]:
    """(name, our page, Datasette's own page for the same rows): of the newest complete run, a cell in its middle."""
    with Ledger.open(path, read_only=True) as ledger:
        seq = ledger.head()[0] // 2
        run, cells = ledger.sql(
            "SELECT run, CAST(json_extract(body, '$.planned') AS INTEGER) FROM main.events"
            " WHERE kind = 'close' ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        tally = "SELECT json_extract(body, '$.rules') FROM main.events WHERE run = ? AND kind = 'tally' LIMIT 1"
        rules = quote(ledger.sql(tally, (run,)).fetchone()[0])
    ours, theirs = f"/-/ledger/{path.stem}", f"/{path.stem}"
    cell = cells // 2
    return (
        ("home", ours, f"{theirs}/events?kind__exact=plan&_sort_desc=seq"),
        ("run", f"{ours}/run/{run}", f"{theirs}/scores?run__exact={run}"),
        ("run, one reason", f"{ours}/run/{run}?outcome=incorrect&rules={rules}",
         f"{theirs}/scores?run__exact={run}&outcome__exact=incorrect"),
        ("cell", f"{ours}/run/{run}/cell/{cell}", f"{theirs}/events?run__exact={run}&cell__exact={cell}"),
        ("event", f"{ours}/event/{seq}", f"{theirs}/events/{seq}"),
        ("lineage", f"{ours}/lineage/{run}", f"{theirs}/events?run__exact={run}"),
        ("search", f"{ours}/search?q=case-77", f"{theirs}/events?kind__exact=cell&body__contains=case-77"),
        ("table", f"{theirs}/events", f"{theirs}/events"),
    )  # fmt: skip


def pages(path: Path) -> None:
    """Print what each page costs, and which are over their goal."""
    heads = "".join(f"{head:>9}" for head in ("first", "whole", "median", "p95"))
    print(f"\n{'':<16}{heads}{'bytes':>10}{'Datasette':>11}{'ratio':>7}    (ms)")
    for name, ours, theirs in _pages(path):
        with served(path) as port:
            first, _ = asked(port, ours)
            size, whole = _whole(port, ours)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            warm = [asked(port, ours, connection)[0] for _ in range(TIMES)]
            try:
                asked(port, theirs, connection)
                plain = statistics.median(asked(port, theirs, connection)[0] for _ in range(TIMES))
                beside = f"{plain:>11.1f}{statistics.median(warm) / plain:>7.2f}"
            except SystemExit:
                beside = f"{'gives up':>11}{'':>7}"
            connection.close()
        median = statistics.median(warm)
        slow = median > GOAL.get(name, 500)
        print(
            f"{name:<16}"
            + "".join(f"{each:>9.1f}" for each in (first, first + 1000 * whole, median, _percentile(warm, 0.95)))
            + f"{size:>10,}{beside}"
            + (f"    over {GOAL.get(name, 500)} ms" if slow else "")
        )


def _hammer(port: int, paths: Sequence[str], answered: Any) -> None:
    """Ask for pages with so many clients, each as fast as it is answered, until the process is ended."""

    def one(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for turn in itertools.count(number):
            asked(port, paths[turn % len(paths)], connection)
            with answered.get_lock():
                answered.value += 1

    threads = [threading.Thread(target=one, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _appends(ledger: Ledger, run: str) -> list[float]:
    took: list[float] = []
    for number in range(APPENDS):
        draft = Draft(Wait(attempt=number, turn=0, seconds=0.25, why="bench", asked=""), run=run, cell=1)
        start = time.perf_counter()
        ledger.append(draft)
        took.append(1000 * (time.perf_counter() - start))
        time.sleep(0.005)
    return took


def writer(path: Path) -> None:
    """Print what an append takes alone, with ten clients, and alone again."""
    paths = [ours for name, ours, _ in _pages(path) if name in GOAL]
    run = paths[1].rpartition("/")[2]
    context = multiprocessing.get_context("fork")
    answered: Any = context.Value("q", 0)
    found: dict[str, list[float]] = {}
    with Ledger.open(path) as ledger, served(path) as port:
        for each in paths:
            asked(port, each)
        found["alone"] = _appends(ledger, run)
        clients = context.Process(target=_hammer, args=(port, paths, answered))
        clients.start()
        time.sleep(1)
        before, start = answered.value, time.perf_counter()
        found[f"{CLIENTS} clients"] = _appends(ledger, run)
        rate = (answered.value - before) / (time.perf_counter() - start)
        clients.terminate()
        clients.join()
        found["alone again"] = _appends(ledger, run)
    base = _percentile(found["alone"], 0.5), _percentile(found["alone"], 0.99)
    print(f"\n{'append, ms':<16}{'p50':>9}{'p99':>9}{'most':>9}{'p50 ×':>9}{'p99 ×':>9}")
    for name, took in found.items():
        half, most = _percentile(took, 0.5), _percentile(took, 0.99)
        print(f"{name:<16}{half:>9.2f}{most:>9.2f}{max(took):>9.2f}{half / base[0]:>9.2f}{most / base[1]:>9.2f}")
    print(f"the clients were given {rate:.1f} pages a second meanwhile, each page drawn anew")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("of", nargs="?", default="1000000", help="how many events, or a ledger to copy")
    parser.add_argument("--one-run", action="store_true", help="one run that holds all of it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "bench.db"
        if given.of.isdigit():
            events = int(given.of)
            with make_ledger(path, events, cells_a_run=max(1, events // 9) if given.one_run else 1000):
                pass
        else:
            shutil.copyfile(given.of, path)
        with Ledger.open(path, read_only=True) as ledger:
            size = ledger.head()[0]
            runs = ledger.sql("SELECT count(*) FROM main.events WHERE kind = 'plan'").fetchone()[0]
        print(json.dumps({"events": size, "runs": runs, "bytes": path.stat().st_size}))
        pages(path)
        writer(path)


if __name__ == "__main__":
    main()
