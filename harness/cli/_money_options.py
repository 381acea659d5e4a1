"""The flags on money, as `run` and `resume` take them."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["DryRun", "MaxCost", "MaxCostAgain", "MaxTokensAgain", "MaxTokensTotal", "Pilot", "Prices"]

Prices = Annotated[
    str,
    typer.Option(
        "--prices",
        envvar="HARNESS_PRICES",
        metavar="PATH",
        help="The price list. Default: ./prices.toml, if it is there.",
    ),
]
MaxCost = Annotated[
    str,
    typer.Option(
        "--max-cost", metavar="AMOUNT[CUR]", help="Stop asking once so much was spent, earlier sessions included."
    ),
]
MaxTokensTotal = Annotated[
    int | None, typer.Option(min=1, help="Stop asking once so many tokens were used, earlier sessions included.")
]
MaxCostAgain = Annotated[
    str, typer.Option("--max-cost", metavar="AMOUNT[CUR]", help="In the place of the run's own; `none` lifts it.")
]
MaxTokensAgain = Annotated[
    int | None, typer.Option("--max-tokens-total", min=0, help="In the place of the run's own; 0 lifts it.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked and what it may cost; send and write nothing.")
]
Pilot = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Ask N cells of each candidate first, say what all would cost, and stop; with"
        " --max-cost, go on where that fits.",
    ),
]  # fmt: skip
