"""What the checks of a large ledger cost, blobs and all: verify by one process and by two, against a bare loop that
only scans the same rows and BLAKE3s the same bytes; the memory at a tenth of the size against the whole; and what
`ledger checkpoint`, `verify --since` and `ledger bundle` of one run of 1,000 cells take there.

Each figure is of a process of its own, with those that it started: seconds of CPU and on the clock, and peak memory, as
the one process's own plus as many times the largest one that it started as there were. Run with
`python bench/verify_million.py [EVENTS [FOLDER]]`; in FOLDER the ledgers are kept, and found again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURE = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
path, jobs, start = Path(sys.argv[2]), int(sys.argv[3]), time.perf_counter()
{work}
own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({{
    "clock": time.perf_counter() - start,
    "cpu": sum(each.ru_utime + each.ru_stime for each in (own, others)),
    "mib": (own.ru_maxrss + max(jobs, 1) * others.ru_maxrss) / 1024,
    "said": said,
}}))
"""
MAKE = "from _synthetic import make_ledger; make_ledger(path, jobs).close(); said = ''"
BARE = "from verify import bare; said = bare(path)"
VERIFY = (
    "from ledger import Outside, verify; found = verify(path, Outside(beside=False), jobs=jobs);"
    " assert found.verdict == 'CONSISTENT'; said = found.events"
)
COMMAND = """
from ledger.cli import main
sys.argv = ["ledger", *{arguments!r}]
said = 0
try:
    main()
except SystemExit as ended:
    said = ended.code
"""
LAST_RUN = (
    "from ledger import Ledger; said = Ledger.open(path, read_only=True).sql("
    "\"SELECT run FROM main.events WHERE kind = 'close' ORDER BY seq DESC LIMIT 1\").fetchone()[0]"
)


def measured(work: str, path: Path, jobs: int = 0) -> dict[str, float]:
    """What one piece of work took, in a process of its own."""
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(work=work), here, str(path), str(jobs)],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def kept(folder: Path, count: int) -> Path:
    """The ledger of that many events."""
    path = folder / f"{count}.db"
    if not path.exists():
        measured(MAKE, path, count)
    return path


def show(name: str, taken: dict[str, float], loop: dict[str, float] | None = None) -> None:
    """One line, with what it is of the loop's."""
    ratio = ""
    if loop is not None:
        ratio = (
            f"   {taken['cpu'] / loop['cpu']:.2f} times its CPU, {taken['clock'] / loop['clock']:.2f} times its time"
        )
    print(f"{name:34} {taken['cpu']:8.1f} s of CPU {taken['clock']:8.1f} s {taken['mib']:6.0f} MiB{ratio}", flush=True)


def compared(path: Path) -> None:
    """The loop, and verify by one process and by two, in turn."""
    loop = measured(BARE, path)
    print(f"{loop['said']} events, {path.stat().st_size / 2**20:.0f} MiB")
    show("bare scan-and-BLAKE3 loop", loop)
    for jobs in (1, 2):
        taken = measured(VERIFY, path, jobs)
        assert taken["said"] == loop["said"]
        show(f"verify, {jobs} process{'es' if jobs > 1 else ''}", taken, loop)


def commands(original: Path, folder: Path) -> None:
    """What else reads a whole ledger."""
    path, key = folder / "ledger" / "copy.db", folder / "key" / "bench.key"
    path.parent.mkdir()
    key.parent.mkdir()
    shutil.copyfile(original, path)
    run = str(measured(LAST_RUN, path)["said"])
    keyed = ["--signing-key", str(key), "--db", str(path)]

    def command(name: str, *arguments: str) -> None:
        taken = measured(COMMAND.format(arguments=list(arguments)), path)
        assert not taken["said"], arguments
        show(name, taken)

    command("ledger key new", "key", "new", *keyed)
    command("ledger checkpoint", "checkpoint", *keyed)
    show_key = "import sys; from ledger.cli import main; sys.argv[0] = 'ledger'; main()"
    shown = subprocess.run(
        [sys.executable, "-c", show_key, "key", "show", *keyed], stdout=subprocess.PIPE, check=True, text=True
    )
    (note,) = path.with_name("copy.db.checkpoints").glob("*.checkpoint")
    command("ledger verify --since", "verify", str(path), "--since", str(note), "--key", shown.stdout.split()[-1])
    command("ledger bundle of 1,000 cells", "bundle", run, "-o", str(folder / "run.zip"), "--db", str(path))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        for each in (count // 10, count):
            compared(kept(folder, each))
        commands(kept(folder, count), Path(scratch))


if __name__ == "__main__":
    main()
