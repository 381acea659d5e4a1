"""Who notices what: `python -m tests.forgeries [WORD …]` forges every row whose name, link or base has a word in it.

With -v, what each says too. Exit 1 where somebody who should notice doesn't.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.forgeries.all_rows import FORGERIES
from tests.forgeries.bases import base
from tests.forgeries.holders import HOLDERS, ask
from tests.forgeries.retold import Retold


def main(arguments: list[str]) -> int:
    words = [each for each in arguments if each != "-v"]
    missed = 0
    for row in FORGERIES.values():
        if words and not any(word in (row.base, row.name) or word in row.link for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            story, db = Retold(base(row.base) / "ledger.db"), Path(folder) / "ledger.db"
            try:
                pair = row.forge(story)
            except (IndexError, StopIteration) as problem:
                print(f"{row.name:36}{row.link:24}{row.base:10}can't be forged here: {problem!r}", flush=True)
                missed += 1
                continue
            seqs = story.write(db)
            said = ask(db)
        named = [bool(re.search(rf"\bevent {seqs[each.mark]}\b", said["deep"].text)) for each in pair]
        told = " ".join(f"{holder} {said[holder].status}" for holder in HOLDERS)
        places = ", ".join(
            f"{each.kind} {seqs[each.mark]}{'' if there else ' UNNAMED'}"
            for each, there in zip(pair, named, strict=True)
        )
        missed += said["deep"].status != 1 or not all(named)
        print(f"{row.name:36}{row.link:24}{row.base:10}{told:42} {places}", flush=True)
        if "-v" in arguments:
            for holder, each in said.items():
                print(f"    {holder}: " + "\n        ".join(each.text.strip().splitlines()[-8:]))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
