"""Still more honest ledgers: the odd, the broken and the long-lived ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping

from tests.forgeries.bases import ROOT, made_by
from tests.forgeries.lab import CASES, Lab, busy_once, ferryman, first_run, grader, rows_of, seqs_of
from tests.harness.models import Answer, model_server
from tests.harness.servers import CLOSE, RESET, ScriptedServer, cut_reply, json_reply, openai_answer, reply
from tests.harness.test_run import perfect

__all__ = ["MORE"]


def torn(lab: Lab) -> None:
    """Connections broke, replies were cut short, one wasn't JSON; all were asked again until they were whole."""
    fine = json_reply(openai_answer("Hoek"))
    replies = [
        cut_reply(b'{"id": "c"', 400, CLOSE), fine, [RESET], fine, reply(b"<html>", content_type="text/html"), fine,
        json_reply({"error": {"message": "slow down"}}, 429, [("Retry-After", "0")]), fine, reply(b"", 502), fine, fine,
        fine,
    ]  # fmt: skip
    with ScriptedServer(*replies) as server:
        lab.call(
            "harness", "run", lab.suite, "--engine", "openai/oar", "--base-url", f"{server.url}/v1",
            "--max-connections", 1, "--max-wait", 0.01, expect=3,
        )  # fmt: skip
        lab.call("harness", "resume", "latest", "--max-retries", 1, "--max-wait", 0.01)


def resumed_thrice(lab: Lab) -> None:
    """A run that failed, was resumed and failed, was resumed and cut, and was resumed to its end."""
    down = [True]

    def answer(prompt: str) -> Answer:
        if down[0] and ("Po " in prompt or "Oder" in prompt):
            return Answer(status=500, body=b"down")
        if "Elbe" in prompt and cut:
            choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": cut.pop()}}
            return Answer(body=json.dumps({"id": "c", "model": "oar-1", "choices": [choice]}).encode())
        return ferryman(prompt)

    cut = ["Cux", "Cu"]
    with model_server(answer) as server:
        lab.run(server, "--max-retries", 0, expect=3)
        lab.call("harness", "resume", "latest", "--max-retries", 1, "--max-wait", 0.01, expect=3)
        lab.call("harness", "resume", "latest", "--max-retries", 0, "--retry-outcomes", "truncated", expect=3)
        down[0] = False
        lab.call("harness", "resume", "latest", "--retry-outcomes", "stop_length", "--retry-outcomes", "http_500")
        lab.call("harness", "resume", "latest")


def two_fixtures(lab: Lab) -> None:
    """Two fixtures with the same ids and a few of the same inputs; a limit that ends within the second; epochs."""
    other = lab.suite / "v1"
    other.mkdir()
    rows = [json.loads(line) for line in (lab.suite / "v0/cases.jsonl").read_text().splitlines()]
    changed = [
        {**row, "gold": row["gold"].upper()} if at % 2 else {**row, "input": "Where is it?"}
        for at, row in enumerate(rows)
    ]
    (other / "cases.jsonl").write_text("".join(json.dumps(row) + "\r\n" for row in changed) + "\n")
    with model_server(lambda prompt: Answer("Hoek") if "it?" in prompt else ferryman(prompt)) as server:
        lab.run(server, "--limit", 10, "--epochs", 2)
        lab.run(server, "--limit", 99, "--filter", "meta.coast!=north")
        lab.run(server, "--filter", "meta.coast~st", "--limit", 3, "--epochs", 2)


def many_candidates(lab: Lab) -> None:
    """Two models, each by two prompts, with numbers of all spellings, named and tagged."""
    (lab.suite / "prompts/terse.txt").write_text("{{ input }}\n")
    (lab.suite / "prompts/long.txt").write_text("=== system ===\nÉ.\n=== user ===\n  {{ input }}  \n\n\nOne word!\n")
    with model_server(ferryman) as server:
        lab.run(
            server, "--engine", "openai/oar", "--engine", "openai/sail", "--prompt", "terse", "--prompt", "long",
            "--temperature", "1.0", "-M", "top_p=0.10", "-M", 'stop=["\\n", "é"]', "-M", "seed=18", "-M",
            'logit_bias={"1": -100, "2": 1e2}', "--name", "wide", "--tag", "a", "--tag", "b", "--limit", 3,
        )  # fmt: skip


def of_the_house(lab: Lab) -> None:
    """The project's own suite: proposals as objects, several rule sets, two fixtures."""
    shutil.copytree(ROOT / "fixtures" / "authority", lab.folder / "fixtures" / "authority")

    def answer(prompt: str) -> Answer:
        return Answer(f"```json\n{perfect(prompt)}\n```" if len(prompt) % 2 else perfect(prompt))

    with model_server(answer) as server:
        lab.call(
            "harness", "run", "authority", "--engine", "openai/oar", "--base-url", server.openai, "--rules",
            "strict-cite", "--rules", "fence-cite", "--limit", 9,
        )  # fmt: skip
    lab.call("harness", "rescore", "latest", "--rules", "fence-span", "--rules", "strict-span")


def frozen_files_withheld(lab: Lab) -> None:
    """The fixture's file, a prompt, a whole cell and a judge's reply were redacted after a graded run."""
    made_by("judged", lab)
    freezes = rows_of(lab.db, "SELECT seq, body ->> '$.what' FROM events WHERE kind = 'freeze' ORDER BY seq")
    fixture = next(seq for seq, what in freezes if what == "fixture")
    targets = [f"{fixture}:file", f"{fixture}:cases", seqs_of(lab.db, "cell")[2], seqs_of(lab.db, "response")[-1]]
    lab.call("ledger", "redact", *targets, "--category", "personal", "--reason", "a name in it")


def prompt_withheld(lab: Lab) -> None:
    """Only the prompt was redacted, and the body of one request."""
    with model_server(busy_once("Elbe")) as server:
        lab.run(server, "--max-wait", 0.01)
    request = seqs_of(lab.db, "request")[3]
    lab.call("ledger", "redact", "3:file", f"{request}:body", "--category", "personal", "--reason", "a name in it")


def found_out(lab: Lab) -> None:
    """Findings about everything that there can be findings about, and some of them withdrawn."""
    made_by("decided", lab)
    report, publish = seqs_of(lab.db, "report")[0], seqs_of(lab.db, "publish")[0]
    label, model = rows_of(lab.db, "SELECT body ->> '$.rules', body ->> '$.model' FROM events WHERE kind = 'parse'")[0]
    (version,) = rows_of(lab.db, "SELECT body ->> '$.environment.eval-ledger' FROM events WHERE kind = 'plan'")[0]
    blob = rows_of(lab.db, "SELECT hash FROM blobs ORDER BY id")[3][0]
    freeze = seqs_of(lab.db, "freeze")[1]
    run = first_run(lab.db)
    for target in (
        f"event:{publish}", f"report:{report}", f"freeze:{freeze}", f"blob:{blob}", f"rules:{label}", f"model:{model}",
        f"harness:{version}", "candidate:openai/oar", f"run:{run}",
    ):  # fmt: skip
        lab.call("ledger", "taint", target, "--reason", "the tide")
    for taint in seqs_of(lab.db, "taint")[-9::2]:
        lab.call("ledger", "clear", taint, "--reason", "it was the moon")
    why = ("--reason", "a slip", "--category", "operator")
    lab.call("ledger", "supersede", f"freeze:{freeze}", "--no-successor", *why)
    lab.call("ledger", "supersede", seqs_of(lab.db, "supersede")[-1], "--no-successor", *why)
    lab.call("ledger", "note", "seen by the harbour master", "--run", run)


def reused_in_part(lab: Lab) -> None:
    """One case changed, the others were taken over; a model that was added was asked; and all was reported."""
    with model_server(ferryman) as server:
        lab.run(server)
        path = lab.suite / "v0/cases.jsonl"
        path.write_text(path.read_text().replace("the Po end", "the river Po end").replace("Tortosa", "Amposta"))
        lab.run(server, "--reuse", "--engine", "openai/oar", "--engine", "openai/sail")
        lab.run(server, "--reuse", "--epochs", 2)
    lab.call("harness", "report", "latest", "-o", lab.folder / "r.html")


def graded_in_part(lab: Lab) -> None:
    """A judge who is cut off once and mumbles once; resumed; with golds as references; of one of two candidates."""
    made_by("plain", lab)
    seen: list[str] = []

    def judge(prompt: str) -> Answer:
        seen.append(prompt)
        if len(seen) == 2:
            return Answer(status=500, body=b"down")
        return Answer("Good!") if len(seen) == 3 else grader(prompt)

    with model_server(judge) as server:
        run = f"{first_run(lab.db)}@openai/sail"
        lab.grade(server, run, "--reference-gold", "--max-retries", 0, expect=3)
        lab.call("harness", "resume", "latest")
        lab.grade(server, run, "--limit", 2)


def answered_elsewhere(lab: Lab) -> None:
    """Answers of several kinds taken in twice, rescored, and graded by a judge."""
    answers = lab.folder / "answers.jsonl"
    rows = [{"id": name, "output": gold, "model": "oar", "raw": {"n": 1.50}} for name, (_, gold, _) in CASES.items()]
    rows[1]["output"] = None
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]))
    for _ in range(2):
        lab.call("harness", "import", "--suite", lab.suite, answers)
    lab.call("harness", "rescore", "latest", "--rules", lab.suite / "rules/label.toml")
    with model_server(grader) as server:
        lab.grade(server, "latest")


MORE: Mapping[str, Callable[[Lab], None]] = {
    make.__name__: make
    for make in (
        torn, resumed_thrice, two_fixtures, many_candidates, of_the_house, frozen_files_withheld, prompt_withheld,
        found_out, reused_in_part, graded_in_part, answered_elsewhere,
    )
}  # fmt: skip
