"""What a run was right to ask again, both readers of its bundle find right: the error's own code, the server's wish."""

from __future__ import annotations

from pathlib import Path

from harness._attempts import Patience
from harness._job import Job, run_job
from harness._run import RunOptions
from harness._session import SilentProgress
from ledger import Ledger
from ledger.bundle._make import Wanted, make_bundle
from ledger.tree import SigningKey
from tests.harness.answered import ROOT
from tests.harness.servers import ScriptedServer, json_reply, openai_answer
from tests.ledger.bundle.bundled import checkpointed
from tests.ledger.bundle.edited import READERS

PARTIAL = {
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "error", "message": {"content": "hal"}, "error": {"code": 502, "message": "gone"}}
    ],
}


def test_an_error_inside_a_choice_and_a_wish_of_the_server_are_reasons_to_ask_again(tmp_path: Path) -> None:
    db = tmp_path / "ledger.db"
    failing = json_reply(PARTIAL, headers=[("Retry-After", "0")])
    unsaid = json_reply(
        {"model": "m", "choices": [{"index": 0, "finish_reason": "error", "message": {"content": "hal"}}]},
        headers=[("Retry-After", "0")],
    )
    wished = json_reply({"error": {"message": "m"}}, 400, headers=[("X-Should-Retry", "TRUE"), ("Retry-After", "0")])
    with ScriptedServer(failing, unsaid, wished, json_reply(openai_answer('{"proposals": []}'))) as server:
        options = RunOptions(limit=1, max_connections=1, patience=Patience(max_retries=3, max_wait=5), timeout=5)
        job = Job(str(ROOT / "authority/v0"), ["openai/m"], [f"{server.url}/v1"], ("strict-cite",), options=options)
        run = run_job(job, db, SilentProgress()).finished.run
        assert len(server.requests) == 4
    with Ledger.open(db, read_only=True) as ledger:
        waits = [ledger.body(event).model_dump()["why"] for event in ledger.events(kind="wait", run=run)]
        origin = f"{ledger.genesis.origin}/{ledger.genesis.id}"
    assert waits == ["error_in_200", "error_in_200", "bad_request"]
    key = SigningKey.generate(origin)
    checkpointed(db, key)
    make_bundle(db, Wanted((run,)), tmp_path / "shown.zip")
    for reader in READERS.values():
        found = reader(tmp_path / "shown.zip", key.verifier)
        assert "FALSE" not in found.text.upper().replace("NOTHING IS FALSE", ""), found.text
        assert found.status in (0, 3), found.text
