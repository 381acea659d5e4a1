"""`ledger anchor rfc3161` against a real authority on loopback, a good one and all sorts of bad ones."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import Ledger, NotTimestamped, Outside, Refused, kinds, verify
from ledger._errors import BadNote, NotFound
from ledger.checkpoints import anchor_rfc3161
from ledger.checkpoints._anchor import shown_url
from ledger.checkpoints._timestamp import check_timestamp, make_query
from ledger.tree import SigningKey
from tests.ledger.checkpoints.authority import Authority, Certificates, Reply, authority_server
from tests.ledger.checkpoints.conftest import Signed
from tests.ledger.cli.conftest import Command


def before_and_after(signed: Signed) -> tuple[list[str], list[str]]:
    return signed.files(), signed.kinds()


def test_a_good_token_is_kept_beside_the_note_and_in_an_anchor_and_verify_names_it(
    signed: Signed, authority: Authority, certificates: Certificates
) -> None:
    made = signed.sign()
    note = made.path.read_bytes()
    with authority_server(authority.answer) as (url, seen):
        had = anchor_rfc3161(signed.path, f"{url}/tsr", roots=[certificates.root.read_bytes()])
    assert [(each["path"], each["content-type"], each["accept"]) for each in seen] == [
        ("/tsr", "application/timestamp-query", "application/timestamp-reply")
    ]
    assert had.path.name == "000000000002.loopback-tsa.tsr"
    assert had.checked
    token = had.path.read_bytes()
    assert check_timestamp(token, note, [certificates.root.read_bytes()]) == had.timestamp
    with Ledger.open(signed.path, read_only=True) as ledger:
        event = ledger.event(had.anchor)
        body = ledger.body(event)
        assert ledger.blob(event, "token") == token
    assert isinstance(body, kinds.Anchor)
    assert (body.what, body.size, body.key) == ("rfc3161", 2, "CN=Loopback TSA,O=Loopback Time")
    assert event.causes == ()
    outside = Outside(keys=(signed.key.verifier,), tsa_roots=(certificates.root,))
    found = verify(signed.path, outside)
    assert (found.verdict, found.failures) == ("TIMESTAMPED", ())
    assert found.checkpoints[0].timestamps == (had.timestamp,)
    assert not signed.sign().fresh, "a checkpoint's own timestamps are nothing new"


def test_a_second_timestamp_by_the_same_authority_lies_beside_the_first(signed: Signed, authority: Authority) -> None:
    signed.sign()
    with authority_server(authority.answer) as (url, _):
        names = [anchor_rfc3161(signed.path, url).path.name for _ in range(2)]
    assert names == ["000000000002.loopback-tsa.tsr", "000000000002.loopback-tsa-2.tsr"]
    assert signed.kinds().count("anchor") == 3


def test_a_token_that_a_killed_call_left_is_recorded_by_the_next(
    signed: Signed, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed.sign()

    class Killed(BaseException):
        pass

    def dies(*_: object) -> None:
        raise Killed

    with authority_server(authority.answer) as (url, _):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Ledger, "append", dies)
            anchor_rfc3161(signed.path, url)
        assert signed.kinds().count("anchor") == 1
        anchor_rfc3161(signed.path, url)
    with Ledger.open(signed.path, read_only=True) as ledger:
        tokens = [ledger.blob(each, "token") for each in ledger.events(kind="anchor", after=3)]
    assert tokens == [signed.folder.joinpath(name).read_bytes() for name in (
        "000000000002.loopback-tsa.tsr", "000000000002.loopback-tsa-2.tsr")]  # fmt: skip


BAD: dict[str, tuple[Callable[[Authority, bytes], bytes | Reply], str]] = {
    "another nonce": (
        lambda authority, query: authority.answer(make_query(b"x").data),
        "expected a timestamp with the nonce of our request, got another",
    ),
    "a refusal": (lambda authority, query: authority.answer(b"no query"), "got the status 2: rejection ('Bad request"),
    "a page": (
        lambda authority, query: Reply(b"<html>welcome</html>", kind="text/html; charset=utf-8"),
        "expected an answer of type application/timestamp-reply, got 'text/html'",
    ),
    "a page said to be a token": (lambda authority, query: Reply(b"<html>"), "expected a timestamp response"),
    "status 500": (lambda authority, query: Reply(b"oops", status=500), "expected the status 200, got 500"),
    "status 404": (lambda authority, query: Reply(b"", status=404), "expected the status 200, got 404"),
    "a redirect": (
        lambda authority, query: Reply(b"", status=302, location="https://user:pw@elsewhere.example/tsr?key=abc"),
        "sends on to https://***@elsewhere.example/tsr?key=***; give that as --url if it is the one you trust",
    ),
    "half of it": (
        lambda authority, query: Reply(authority.answer(query)[:-40]),
        "expected a timestamp response (RFC 3161), got something else",
    ),
    "too much": (lambda authority, query: Reply(bytes(1 << 20)), "an answer of at most 262144 bytes, got more"),
    "nothing": (lambda authority, query: Reply(b""), "expected a timestamp response (RFC 3161)"),
    "too late": (lambda authority, query: Reply(b"", wait=30), "expected an answer within 0.5 s"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_answer_is_one_sentence_and_3_and_leaves_nothing(signed: Signed, authority: Authority, what: str) -> None:
    signed.sign()
    before = before_and_after(signed)
    answer, said = BAD[what]
    command = Command(signed.path.parent)
    with authority_server(lambda query: answer(authority, query)) as (url, _):
        done = command("anchor", "rfc3161", "--url", url, "--timeout", "0.5" if what == "too late" else "20")
    assert (done.status, done.out) == (3, "")
    assert said in done.err
    assert done.err.startswith(f"error: {url}")
    assert done.err.count("\n") == 1
    assert before_and_after(signed) == before


def test_an_authority_that_the_given_roots_do_not_know_is_refused_before_anything_is_stored(
    signed: Signed, authority: Authority, tmp_path: Path
) -> None:
    signed.sign()
    before = before_and_after(signed)
    other = Certificates(tmp_path, "Another Root").root.read_bytes()
    with (
        authority_server(authority.answer) as (url, _),
        pytest.raises(NotTimestamped, match="unable to get local issuer"),
    ):
        anchor_rfc3161(signed.path, url, roots=[other])
    assert before_and_after(signed) == before


def test_roots_that_are_none_are_found_before_anybody_is_asked(signed: Signed, authority: Authority) -> None:
    signed.sign()
    with authority_server(authority.answer) as (url, seen), pytest.raises(BadNote, match="certificate as PEM"):
        anchor_rfc3161(signed.path, url, roots=[b"no certificate"])
    assert seen == []


def test_an_authority_that_is_not_there_is_one_sentence_and_3(signed: Signed) -> None:
    signed.sign()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/tsr"
        done = Command(signed.path.parent)("anchor", "rfc3161", "--url", url)
    assert (done.status, done.out, done.err.count("\n")) == (3, "", 1)
    assert "can't be reached" in done.err


@pytest.mark.parametrize(
    "url", ["ftp://a.example", "http://", "a.example/tsr", "http://a b/", "http://a:x/", "", "file:///etc"]
)
def test_what_is_no_address_is_one_sentence_and_2(signed: Signed, url: str) -> None:
    signed.sign()
    done = Command(signed.path.parent)("anchor", "rfc3161", "--url", url)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "expected --url as http:// or https://" in done.err


def test_a_secret_in_the_address_is_used_and_shows_nowhere(signed: Signed, authority: Authority) -> None:
    signed.sign()
    command = Command(signed.path.parent)
    pair = base64.b64encode(b"me:s3cret-word").decode()
    with authority_server(authority.answer) as (url, seen):
        secret = url.replace("http://", "http://me:s3cret-word@") + "/tsr?apikey=t0ken-value&plain=also"
        good = command("anchor", "rfc3161", "--url", secret)
    with authority_server(lambda query: Reply(b"", status=401)) as (url, _):
        secret = url.replace("http://", "http://me:s3cret-word@") + "/tsr?apikey=t0ken-value&plain=also"
        bad = command("anchor", "rfc3161", "--url", secret)
    assert (good.status, bad.status) == (0, 3)
    assert (seen[0]["authorization"], seen[0]["path"]) == (f"Basic {pair}", "/tsr?apikey=t0ken-value&plain=also")
    assert "http://***@127.0.0.1" in bad.err
    told = "".join(each.out + each.err for each in (good, bad)).encode()
    for each in (told, *(path.read_bytes() for path in signed.path.parent.rglob("*") if path.is_file())):
        for piece in (b"s3cret-word", b"t0ken-value", pair.encode()):
            assert piece not in each


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/tsr", "https://a.example/tsr"),
        ("https://u:p@a.example:8/tsr?k=v;w=x&y", "https://***@a.example:8/tsr?k=***;w=***&y"),
        ("https://u@a.example?token", "https://***@a.example?***"),
        ("https://a.example/#f=x", "https://a.example/"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_nothing_is_asked_without_a_checkpoint_or_for_one_that_does_not_hold(
    signed: Signed, authority: Authority, tmp_path: Path
) -> None:
    with authority_server(authority.answer) as (url, seen):
        with pytest.raises(NotFound, match="has no checkpoint to have vouched for; `ledger checkpoint` makes one"):
            anchor_rfc3161(signed.path, url)
        made = signed.sign()
        text = made.path.read_text("utf-8").split("\n\n")[0]
        other = Path(tmp_path / "other.checkpoint")
        for change, said in (
            ("team/evals", "expected a checkpoint of team/evals/"),
            (text.splitlines()[2], "root of the first 2 events"),
            ("\n2\n", "is of 9 events, and the ledger has 3"),
        ):  # fmt: skip
            new = {"team/evals": "team/other", "\n2\n": "\n9\n"}.get(change, "A" * 43 + "=")
            forged = SigningKey(made.key.name, bytes(32)).sign(text.replace(change, new) + "\n")
            other.write_bytes(bytes(forged))
            with pytest.raises(Refused, match=said):
                anchor_rfc3161(signed.path, url, checkpoint=other)
        with pytest.raises(BadNote, match="can't be read"):
            anchor_rfc3161(signed.path, url, checkpoint=tmp_path / "none")
    assert seen == []


def test_an_older_checkpoint_can_be_vouched_for_by_name(signed: Signed, authority: Authority) -> None:
    first = signed.sign()
    signed.note("more")
    signed.sign()
    with authority_server(authority.answer) as (url, _):
        done = Command(signed.path.parent)("anchor", "rfc3161", "--url", url, "--checkpoint", first.path, "--json")
    assert (done.status, done.json["size"], done.json["checked"]) == (0, 2, False)
    assert "--tsa-root PEM does" in done.err
    assert "000000000002.loopback-tsa.tsr" in signed.files()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_root_that_is_a_pipe_is_refused_and_not_waited_for(signed: Signed, tmp_path: Path) -> None:
    pipe = tmp_path / "root.pem"
    os.mkfifo(pipe)
    done = Command(signed.path.parent)("anchor", "rfc3161", "--url", "http://127.0.0.1:9", "--tsa-root", pipe)
    assert done.status == 2
    assert "it is a folder, a pipe or a device, not a file" in done.err
