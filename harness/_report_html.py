"""A report as one HTML file: no script, no outside request, light and dark, narrow and printed, charts as inline SVG.

Every foreign text is escaped, with controls and bidi marks visible; a policy in the file forbids whatever isn't in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness._report_document import Block, Cell, Chart, Document, Grid, Heading, Name, Sentence, Text
from harness._svg import failure_bars, interval_plot
from ledger import printable

__all__ = ["DATA_END", "DATA_START", "OPENING", "html_document"]

OPENING = "<!doctype html>\n<!-- eval-ledger report -->"
DATA_START = '<pre id="data">'
DATA_END = "</pre>"

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --line: #d0d7de; --page: #ffffff; --bad: #a40e26;
  --badpage: #fff1f2; --dot: #0b57a4; --bar: #6ea8e0; --thin: #9aa4ae; --harness: #8250df; --provider: #bf5b04; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #9aa4ae; --line: #3b434c; --page: #0d1117;
  --bad: #ff9aa5; --badpage: #2b1216; --dot: #79b8ff; --bar: #2f6db3; --thin: #6e7781; --harness: #b794f6;
  --provider: #f0a35e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
bdi { unicode-bidi: isolate; }
p.bad { border-left: 4px solid var(--bad); background: var(--badpage); padding: .5rem .75rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; overflow-wrap: normal; }
caption { text-align: left; color: var(--quiet); padding: .25rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top; }
td { min-width: 7.5rem; } td.right { min-width: 0; } th bdi, td bdi { overflow-wrap: anywhere; }
th.right, td.right { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1rem 0; }
svg { width: 100%; max-width: 40rem; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .tick { fill: var(--quiet); }
svg .grid { stroke: var(--line); } svg .bounds { stroke: var(--thin); stroke-width: 2; }
svg .interval { stroke: var(--bar); stroke-width: 8; } svg .rate { fill: var(--dot); }
svg .bar { fill: var(--thin); } svg .harness { fill: var(--harness); } svg .provider { fill: var(--provider); }
svg .model { fill: var(--bar); }
pre { overflow-x: auto; font-size: .75rem; }
@media print { body { max-width: none; font-size: 10pt; } .wide { overflow: visible; } table { font-size: 8pt; }
  tr, figure, p.bad { break-inside: avoid; } h2, h3 { break-after: avoid; } pre { white-space: pre-wrap; } }
"""

_HEAD = """{opening}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>"""


def _name(text: str) -> str:
    return f"<bdi>{escape(printable(text)) or '–'}</bdi>"


def _text(parts: Sequence[Text]) -> str:
    return "".join(_name(part) if isinstance(part, Name) else escape(part) for part in parts)


def _plain(parts: Sequence[Text]) -> str:
    return "".join(printable(part) for part in parts)


def _cell(cell: Cell) -> str:
    return _text([cell] if isinstance(cell, str) else cell)


def _grid(grid: Grid) -> list[str]:
    right = [' class="right"' if column in grid.right else "" for column in grid.columns]
    lines = [
        '<div class="wide" role="region" aria-label="table" tabindex="0">',
        "<table>",
        f"<caption>{_text(grid.caption)}</caption>",
        "<thead>",
        "<tr>",
    ]
    lines += [f'<th scope="col"{side}>{escape(column)}</th>' for side, column in zip(right, grid.columns, strict=True)]
    lines += ["</tr>", "</thead>", "<tbody>"]
    for row in grid.rows:
        cells = [_cell(cell) for cell in row]
        first = f'<th scope="row"{right[0]}>{cells[0]}</th>'
        rest = "".join(f"<td{side}>{cell}</td>" for side, cell in zip(right[1:], cells[1:], strict=True))
        lines.append(f"<tr>{first}{rest}</tr>")
    return [*lines, "</tbody>", "</table>", "</div>"]


def _block(block: Block) -> list[str]:
    match block:
        case Heading():
            return [f"<h{block.level}>{_text(block.text)}</h{block.level}>"]
        case Sentence():
            tone = f' class="{block.tone}"' if block.tone else ""
            return [f"<p{tone}>{_text(block.parts)}</p>"]
        case Grid():
            return _grid(block)
        case Chart():
            draw = interval_plot if block.kind == "intervals" else failure_bars
            return ["<figure>", *draw(_plain(block.title), block.rows), "</figure>"]


def html_document(document: Document, data: str) -> str:
    """The document, with `data` (JSON text) escaped at its end."""
    title = next((_plain(block.text) for block in document if isinstance(block, Heading)), "")
    lines = [_HEAD.format(opening=OPENING, title=escape(title), style=_STYLE)]
    for block in document:
        lines += _block(block)
    lines += [
        "<details>",
        "<summary>The data that this report is made of</summary>",
        f"{DATA_START}{escape(data, quote=False)}{DATA_END}",
        "</details>",
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"
