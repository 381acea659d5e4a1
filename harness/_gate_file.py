"""A gate's results for machines and reviewers: JUnit XML that CI systems read, and Markdown for a PR comment.

Names out of a ledger are shown as `ledger.printable` has them, which leaves no character that XML forbids; in Markdown
each stands in a code span that it can't end.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from harness._contrast import shown_difference, shown_range
from harness._errors import UsageError
from harness._gate import CONFIDENCE, Gate, GateResult
from harness._report_md import md_name
from harness._report_write import write_file
from ledger import printable

__all__ = ["gate_markdown", "junit", "save"]

_MOST = 40


def junit(found: Gate) -> bytes:
    """The results as one test suite, a test case for each candidate, rule set and metric.

    A fail is a failure, and so is an inconclusive result unless it was let through: then it is skipped. What can't be
    compared is an error; a run that is incomplete has one as well, in a test case of its own.
    """
    cases: list[ElementTree.Element] = []
    for each in found.results:
        case = _case(f"{each.rules or 'no rule set'}", " ".join(filter(None, (each.sides(), each.metric))), found)
        if each.outcome == "not comparable":
            _child(case, "error", each.outcome, [each.why, *each.mend])
        elif each.outcome == "inconclusive" and found.lenient:
            _child(case, "skipped", "", [f"inconclusive: {each.why}"])
        elif each.outcome != "pass":
            _child(case, "failure", each.outcome, [each.why, *(f"{why}: {count}" for why, count in each.missing)])
        else:
            ElementTree.SubElement(case, "system-out").text = printable(each.why)
        cases.append(case)
    whole = _case("gate", "the run is complete", found)
    if found.unfinished:
        _child(whole, "error", "incomplete", [f"run {found.run} has cells in error or never asked"])
    cases.append(whole)
    counts = {
        name: sum(case.find(tag) is not None for case in cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    totals = {"tests": str(len(cases)), **{name: str(count) for name, count in counts.items()}, "time": "0"}
    root = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(root, "testsuite", {"name": printable(f"harness gate {found.suite}"), **totals})
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = printable(found.sentence())
    ElementTree.indent(root)
    # Escaped to ASCII, so that no reader has to guess an encoding.
    return ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True) + b"\n"


def _case(classname: str, name: str, found: Gate) -> ElementTree.Element:
    return ElementTree.Element(
        "testcase",
        {"classname": printable(f"{found.suite}.{classname}"), "name": printable(name), "time": "0"},
    )


def _child(case: ElementTree.Element, tag: str, kind: str, lines: list[str]) -> None:
    given = {"message": printable(lines[0])} | ({"type": kind} if kind else {})
    ElementTree.SubElement(case, tag, given).text = "\n".join(printable(line) for line in lines)


def gate_markdown(found: Gate) -> str:
    """The results as GitHub's Markdown: the verdict, a table, what is missing, and what weakens the numbers."""
    marks = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️", "incomplete": "⚠️", "not comparable": "⛔"}
    tag = f", the newest tagged {md_name(found.tag)}" if found.tag else ""
    lines = [
        f"### {marks[found.outcome]} Gate: {found.outcome}",
        "",
        f"{md_name(found.suite)}: run {md_name(found.run)} against run {md_name(found.against)}{tag}; margin"
        f" {found.points()}, {CONFIDENCE}.",
        "",
        "| | candidate | rules | metric | run | against | difference | 95% interval | |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    lines += [_row(marks[each.outcome], each) for each in found.results[:_MOST]]
    if len(found.results) > _MOST:
        lines += ["", f"and {len(found.results) - _MOST} more; `--json` has all."]
    missing = list(dict.fromkeys(each for result in found.results for each in result.missing))
    if missing:
        lines += ["", "Missing, and counted against a pass unless it was never planned:", ""]
        lines += [f"- {md_name(why)}: {count}" for why, count in missing[:_MOST]]
    if found.unfinished:
        lines += ["", f"The run is incomplete; {md_name(f'harness resume {found.run}')} asks the rest."]
    mend = list(dict.fromkeys(each for result in found.results for each in result.mend))
    if mend:
        lines += ["", "To mend what can't be compared:", "", *(f"- {md_name(each)}" for each in mend[:_MOST])]
    if found.warnings:
        lines += ["", "<details><summary>What weakens these numbers</summary>", ""]
        lines += [f"- {md_name(each)}" for each in found.warnings[:_MOST]]
        lines += ["", "</details>"]
    lines += ["", "Below zero is worse, whichever way the metric runs. Inconclusive is not a pass."]
    return "\n".join(lines) + "\n"


def _row(mark: str, each: GateResult) -> str:
    shown = each.seen
    difference = "–" if shown is None else shown_difference(shown.difference, "rate")
    interval = "–" if shown is None else shown_range(shown.low, shown.high, "rate").removesuffix("pp")
    cells = [
        mark, md_name(each.sides()), md_name(each.rules), md_name(each.metric), md_name(each.ours),
        md_name(each.theirs), difference, interval, f"{each.outcome}: {md_name(each.why)}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def save(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, over an older one. Raises UsageError where that can't be done."""
    target = path.resolve()
    if target.exists() and (not target.is_file() or target.read_bytes()[:16].startswith(b"SQLite format 3")):
        raise UsageError(f"{path} is a folder or a ledger, which is never written over; name another file")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}; make it first")
    try:
        with write_file(target, data):
            pass
    except OSError as problem:
        raise UsageError(f"{path} can't be written: {problem.strerror}") from None
