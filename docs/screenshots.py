"""Draws docs/images: every page, light and dark, 1280 and 400 wide, in Debian's Chromium.

    python docs/screenshots.py [FOLDER]

The pages are those of a copy of ./ledger.db (history-…), of a ledger with a run in every state (states-…), which is
made for it, of one with hostile text (hostile-…), and of a run of 1,000 cells (thousand-…).
"""

from __future__ import annotations

import base64
import os
import shutil
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import httpx
from _synthetic import make_ledger

from ledger import Ledger, find_run
from tests.browsing import NARROW, WIDE, launched, opened, serve
from tests.web.states import HOSTILE_RUN, hostile, interesting

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]
TALLEST = 960
COLOURS = """async source => {
  const image = await createImageBitmap(await (await fetch("data:image/png;base64," + source)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height), drawn = canvas.getContext("2d");
  drawn.drawImage(image, 0, 0);
  const pixels = new Uint32Array(drawn.getImageData(0, 0, image.width, image.height).data.buffer), counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(each => each[0]), index = new Map();
  const parts = pixel => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const palette = kept.map(parts);
  kept.forEach((pixel, at) => index.set(pixel, at));
  for (const pixel of counts.keys()) if (!index.has(pixel)) {
    const [r, g, b] = parts(pixel);
    let best = 0, least = Infinity;
    palette.forEach(([x, y, z], at) => {
      const far = (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2;
      if (far < least) [best, least] = [at, far];
    });
    index.set(pixel, best);
  }
  const found = Uint8Array.from(pixels, pixel => index.get(pixel));
  let text = "";
  for (let at = 0; at < found.length; at += 32768) text += String.fromCharCode(...found.subarray(at, at + 32768));
  return { width: image.width, height: image.height, palette: palette.flat(), pixels: btoa(text) };
}"""
"""The picture's 256 most frequent colours, and which of them each pixel is nearest to: small enough to be kept."""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def small_png(page: Page, png: bytes) -> bytes:
    """The picture with a palette (PNG, colour type 3). `page` is one of a browser that may run scripts."""
    found: Mapping[str, Any] = page.evaluate(COLOURS, base64.b64encode(png).decode())
    width, pixels = int(found["width"]), base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, len(pixels), width))
    head = struct.pack(">IIBBBBB", width, found["height"], 8, 3, 0, 0, 0)
    parts = _chunk(b"IHDR", head), _chunk(b"PLTE", bytes(found["palette"])), _chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + _chunk(b"IEND", b"")


def _seq(ledger: Ledger, kind: str, run: str) -> int:
    sql = "SELECT seq FROM main.events WHERE kind = ? AND run = ? ORDER BY seq LIMIT 1"
    return int(ledger.sql(sql, (kind, run)).fetchone()[0])


def _history(path: Path) -> Iterator[tuple[str, str]]:
    with Ledger.open(path, read_only=True) as ledger:
        run, other = find_run(ledger, "smollm2"), find_run(ledger, "w73h")
        whole = find_run(ledger, "qwen1.5b-v1")
        response, score = _seq(ledger, "response", run), _seq(ledger, "score", whole)
        ours, theirs = f"/-/ledger/{path.stem}", f"/{path.stem}"
        yield "home", ours
        yield "run", f"{ours}/run/{whole}"
        yield "cell", f"{ours}/run/{whole}/cell/1"
        yield "cell-unmeasured", f"{ours}/run/{run}/cell/1"
        yield "compare", f"{ours}/compare?a={run}&b={other}"
        yield "compare-rules", f"{ours}/compare?a={whole}&rules=strict-cite&rules=fence-cite"
        yield "event", f"{ours}/event/{score}"
        yield "blob", f"{ours}/event/{response}/blob/body"
        yield "hex", f"{ours}/event/{response}/blob/body?view=hex"
        yield "lineage", f"{ours}/lineage/{whole}"
        yield "search", f"{ours}/search?q=stop_length"
        yield "table", f"{theirs}/events"
        yield "row", f"{theirs}/events/{score}"
        yield "database", theirs


def _states(path: Path) -> Iterator[tuple[str, str]]:
    ours = f"/-/ledger/{path.stem}"
    with Ledger.open(path, read_only=True) as ledger:
        runs = {name: find_run(ledger, name) for name in ("mixed", "repeats", "broken", "retried", "streamed", "sums")}
        one, killed = find_run(ledger, "one cell"), find_run(ledger, "killed")
        report = int(ledger.sql("SELECT seq FROM main.events WHERE kind = 'report'").fetchone()[0])
    yield "home", ours
    yield "mixed", f"{ours}/run/{runs['mixed']}"
    yield "repeats", f"{ours}/run/{runs['repeats']}"
    yield "superseded", f"{ours}/run/{runs['broken']}"
    yield "sums", f"{ours}/run/{runs['sums']}"
    yield "one-cell", f"{ours}/run/{one}"
    yield "killed", f"{ours}/run/{killed}"
    yield "retried-cell", f"{ours}/run/{runs['retried']}/cell/3"
    yield "streamed-cell", f"{ours}/run/{runs['streamed']}/cell/1"
    yield "withheld-cell", f"{ours}/run/{runs['sums']}/cell/2"
    yield "unasked-cell", f"{ours}/run/{killed}/cell/3"
    yield "compare", f"{ours}/compare?a={runs['sums']}@openai/small-model&b={runs['sums']}@openai/large-model"
    yield "lineage", f"{ours}/lineage/{runs['mixed']}"
    yield "report", f"{ours}/event/{report}"
    yield "nothing-found", f"{ours}/search?q=nothing-is-called-that"
    yield "missing", f"{ours}/event/999999"


def _hostile(path: Path) -> Iterator[tuple[str, str]]:
    ours = f"/-/ledger/{path.stem}"
    yield "home", ours
    yield "run", f"{ours}/run/{HOSTILE_RUN}"
    yield "cell", f"{ours}/run/{HOSTILE_RUN}/cell/9"


def _thousand(path: Path) -> Iterator[tuple[str, str]]:
    ours = f"/-/ledger/{path.stem}"
    with Ledger.open(path, read_only=True) as ledger:
        run = find_run(ledger, "latest")
    yield "run", f"{ours}/run/{run}"
    yield "lineage", f"{ours}/lineage/{run}"


def _drawn(page: Page, address: str) -> None:
    """Open an address, and again until nothing of its page is being worked out."""
    until = time.monotonic() + 120
    page.goto(address)
    while page.locator("body[data-awaits]").count():
        if time.monotonic() > until:
            raise SystemExit(f"error: {address} still waits for something after two minutes")
        page.wait_for_timeout(200)
        page.goto(address)


ALL = [(dark, width) for dark in (False, True) for width in (WIDE, NARROW)]
TWO = [(False, WIDE), (True, NARROW)]


def main() -> None:
    target = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else ROOT / "docs" / "images"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as folder:
        here = Path(folder)
        (here / "made").mkdir()
        history = Path(shutil.copyfile(ROOT / "ledger.db", here / "history.db"))
        shutil.copytree(ROOT / "ledger.db.checkpoints", here / "history.db.checkpoints")
        states = interesting(here / "made").rename(here / "states.db")
        thousand = here / "thousand.db"
        make_ledger(thousand, 9_000).close()
        asked = [
            (history, list(_history(history)), ALL), (states, list(_states(states)), TWO),
            (hostile(here / "hostile.db"), list(_hostile(here / "hostile.db")), TWO),
            (thousand, list(_thousand(thousand)), TWO),
        ]  # fmt: skip
        # Commands on pages name the ledger as the server was given it, and no folder of this machine is to be seen.
        os.chdir(here)
        with serve(*(ledger.relative_to(here) for ledger, _, _ in asked)) as site, launched() as browser:
            work = browser.new_page()
            for ledger, _, _ in asked:
                while "being verified" in httpx.get(f"{site.url}/{ledger.stem}", timeout=60).text:
                    time.sleep(0.2)
            for ledger, pages, ways in asked:
                for dark, width in ways:
                    with opened(browser, site.root, dark=dark, width=width) as (page, record):
                        for name, path in pages:
                            page.set_viewport_size({"width": width, "height": 900})
                            _drawn(page, f"{site.root}{path}")
                            tall = page.evaluate("document.documentElement.scrollHeight")
                            page.set_viewport_size({"width": width, "height": min(tall, TALLEST)})
                            png = small_png(work, page.screenshot())
                            shade = "dark" if dark else "light"
                            (target / f"{ledger.stem}-{name}-{shade}-{width}.png").write_bytes(png)
                    for problem in record.problems():
                        print(f"{ledger.stem}: {problem}", file=sys.stderr)
    made = sorted(target.glob("*.png"))
    print(f"{len(made)} pictures, {sum(each.stat().st_size for each in made):,} bytes, in {target}")


if __name__ == "__main__":
    main()
