"""`verify --jobs` for tests: the parts checked by this very process, however small the ledger is."""

from __future__ import annotations

import json
from pathlib import Path

from ledger import Outside, Verdict, verify
from ledger._verify import verify_in_parts
from ledger._verify_outside import gather
from ledger._verify_part import Job, PartFound, check_part
from ledger._verify_parts import NotInParts, Running, Way


class Inline:
    """A part that is checked here and now; the job goes through its line of JSON, as to a process."""

    def __init__(self, job: Job) -> None:
        found = check_part(Job(**json.loads(job.line())))
        if found is None:
            raise NotInParts
        self.done = job.until
        self._found = found

    def found(self) -> PartFound:
        return self._found

    def stop(self) -> None:
        pass


def divided(
    path: Path, outside: Outside | None = None, *, jobs: int = 3, block: int = 4, part: type[Running] = Inline
) -> Verdict | None:
    """The verdict of the quick way alone, in parts of at least one event; None where it gives none."""
    return verify_in_parts(path, gather(path, outside or Outside()), Way(jobs, 1, block, part))


def both(path: Path, outside: Outside | None = None) -> Verdict:
    """The verdict of one process, which the quick way must give as well if it gives any."""
    whole, quick = verify(path, outside), divided(path, outside)
    assert quick is None or quick.as_json() == whole.as_json(), (quick, whole)
    assert quick is not None or whole.problems or whole.notes or whole.since, whole
    return whole
