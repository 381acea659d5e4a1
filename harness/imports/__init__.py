"""Imports: runs that somebody else recorded, as runs of this ledger, with the grade of their evidence.

A format is a module that turns files into the plain records of `_foreign`; one writer makes events of those. So what
a new format has to say is only how its files are read.
"""

from __future__ import annotations

from harness.imports._answers import AnswersJob, BadAnswers, import_answers, read_answers
from harness.imports._foreign import ForeignCell, ForeignRun
from harness.imports._formats import FORMATS, Format, find_format
from harness.imports._job import Imported, ImportJob, import_job

__all__ = [
    "FORMATS", "AnswersJob", "BadAnswers", "ForeignCell", "ForeignRun", "Format", "ImportJob", "Imported",
    "find_format", "import_answers", "import_job", "read_answers",
]  # fmt: skip
