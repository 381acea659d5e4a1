"""Who notices what: `python -m tests.forgeries [WORD …]` forges every row whose name, link or base has a word in it.

A line says who noticed, who doesn't hold the link and did so all the same (in brackets), and who should have noticed.
With -v, what each says too. Exit 1 where somebody who should notice doesn't, or the pair of events isn't named.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from harness.links._table import LINKS
from tests.forgeries.all_rows import FORGERIES
from tests.forgeries.bases import base
from tests.forgeries.holders import HOLDERS, Said, ask
from tests.forgeries.retold import Retold
from tests.forgeries.table import Forgery

HELD = {each.name: frozenset[str](each.held) for each in LINKS}


def told(row: Forgery, folder: Path) -> tuple[dict[str, Said], list[str]]:
    """What everybody says of a forgery, and which of its pair of events nobody named."""
    story, db = Retold(base(row.base) / "ledger.db"), folder / "ledger.db"
    pair = row.forge(story)
    seqs = story.write(db)
    said: dict[str, Said] = {}
    for holder in HOLDERS:
        try:
            said |= ask(db, holder)
        except Exception as problem:
            said[holder] = Said(99, f"{type(problem).__name__}: {problem}")
    texts = said["verify"].text if said["verify"].status else said["deep"].text
    unnamed = [
        f"{each.kind} {seqs[each.mark]}" for each in pair if not re.search(rf"\bevent {seqs[each.mark]}\b", texts)
    ]
    return said, unnamed


def main(arguments: list[str]) -> int:
    words = [each for each in arguments if each != "-v"]
    wrong = 0
    for row in FORGERIES.values():
        if words and not any(word in (row.base, row.name) or word in row.link for word in words):
            continue
        start = f"{row.name:36}{row.link:22}{row.base:10}"
        try:
            with tempfile.TemporaryDirectory() as folder:
                said, unnamed = told(row, Path(folder))
        except Exception as problem:
            print(f"{start}CAN'T BE FORGED: {problem!r}", flush=True)
            wrong += 1
            continue
        held = HELD.get(row.link, frozenset({"no such link"})) - row.unseen
        noticed = [each if each in held else f"({each})" for each in HOLDERS if said[each].status == 1]
        missed = [f"{each} {said[each].status}" for each in HOLDERS if each in held and said[each].status != 1]
        bad = "".join([
            f"  MISSED by {', '.join(missed)}" if missed else "", f"  UNNAMED {', '.join(unnamed)}" if unnamed else "",
            "" if row.link in HELD else "  NO SUCH LINK",
        ])  # fmt: skip
        wrong += bool(bad)
        print(f"{start}{' '.join(noticed):40}{bad}", flush=True)
        if "-v" in arguments:
            for holder, each in said.items():
                print(f"    {holder}: " + "\n        ".join(each.text.strip().splitlines()[-8:]))
    for name in sorted(set(HELD) - {row.link for row in FORGERIES.values()}):
        print(f"no forgery of {name}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
