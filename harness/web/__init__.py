"""The pages that `harness` adds to a ledger's: runs, cells and comparisons. An entry point of `eval_ledger.web`."""

from __future__ import annotations

from harness._errors import HarnessError
from harness.web._cell import cell_page
from harness.web._compare import compare_page
from harness.web._headlines import headlines
from harness.web._run import ahead, run
from ledger.web import Pages, Route

__all__ = ["PAGES"]

PAGES = Pages(
    name="harness",
    package="harness.web",
    routes=(
        Route("run", "run/{run}", run),
        Route("cell", "run/{run}/cell/{cell}", cell_page),
        Route("compare", "compare", compare_page),
    ),
    nav=(("compare", "Compare"),),
    errors=(HarnessError,),
    styles=("harness-run.css", "harness-cell.css"),
    headlines=headlines,
    ahead=ahead,
)
