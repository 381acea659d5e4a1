"""Have an authority outside vouch for a checkpoint (RFC 3161), and keep its token beside the checkpoint's file.

What goes out is the SHA-256 of the note and a nonce. What comes back is checked against both before it is stored.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ledger._drafts import Draft
from ledger._errors import BadNote, LedgerExists, NotFound, NotTimestamped, Refused
from ledger._files import read_small
from ledger._store import Ledger
from ledger.checkpoints._extends import anchors_of, origin_of, refuse_unless_extends, roots_at
from ledger.checkpoints._files import StoredCheckpoint, read_checkpoint, stored_checkpoints, timestamp_paths
from ledger.checkpoints._storing import hold_folder, store
from ledger.checkpoints._timestamp import (
    MAX_TOKEN,
    Timestamp,
    certificates_in,
    check_answer,
    check_timestamp,
    describe_timestamp,
    make_query,
)
from ledger.kinds import Anchor
from ledger.tree import Checkpoint, to_base64

__all__ = ["Timestamped", "anchor_rfc3161", "shown_url"]

_QUERY, _REPLY = "application/timestamp-query", "application/timestamp-reply"
_MOST_NOTE = 256 << 10
_MOST_PER_AUTHORITY = 1000


@dataclass(frozen=True, slots=True)
class Timestamped:
    """A timestamp that was had: over which checkpoint, in which file, by whom and when, and the seq of its anchor.

    `checked` says whether it was checked against root certificates, or only against what was asked.
    """

    checkpoint: Checkpoint
    path: Path
    timestamp: Timestamp
    anchor: int
    checked: bool


def anchor_rfc3161(
    path: str | Path,
    url: str,
    *,
    checkpoint: Path | None = None,
    roots: Sequence[bytes] = (),
    seconds: float = 30.0,
) -> Timestamped:
    """Ask the authority at `url` for a timestamp over a checkpoint (by default the newest of the ledger), store the
    token beside the checkpoint's file, and append an anchor event that holds it too.

    `roots` are PEM certificates: the token must lead to one of them. Raises NotFound without a checkpoint, Refused for
    one that isn't the ledger's, NotTimestamped where there is no good timestamp to be had; then nothing was stored.
    """
    _check_url(url)
    for root in roots:
        certificates_in(root)
    with Ledger.open(path) as ledger:
        stored, at = _chosen(ledger, checkpoint)
        note = read_small(stored.path, _MOST_NOTE)
        query = make_query(note)
        token = _post(url, query.data, seconds)
        try:
            timestamp = check_answer(token, note, query.nonce)
            if roots:
                timestamp = check_timestamp(token, note, roots)
        except BadNote as problem:
            raise NotTimestamped(f"{shown_url(url)}: {problem}; nothing was stored") from None
        with hold_folder(ledger.path):
            drafts = [_draft(at, each) for each in _unrecorded(ledger, stored.path, note)]
            target = _store(stored.path, timestamp, token)
            *_, event = ledger.append(*drafts, _draft(at, token))
        return Timestamped(at, target, timestamp, event.seq, bool(roots))


def shown_url(url: str) -> str:
    """A URL without what may be a secret in it: no user, no password, and asterisks for the values of its query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    who = "***@" if "@" in parts.netloc else ""
    query = "?" + re.sub(r"=[^&;]*", "=***", parts.query) if "=" in parts.query else "?***" if parts.query else ""
    return f"{parts.scheme}://{who}{host}{parts.path}{query}"


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        sound = sound and url.isprintable() and " " not in url
    except ValueError:
        sound = False
    if not sound:
        raise NotFound("expected --url as http:// or https:// and the host of a timestamp authority, got another")


def _chosen(ledger: Ledger, named: Path | None) -> tuple[StoredCheckpoint, Checkpoint]:
    """The checkpoint to have vouched for: it must hold, or the token would vouch for what isn't so."""
    if named is not None:
        stored = read_checkpoint(named)
    else:
        there = stored_checkpoints(ledger.path)
        if not there:
            raise NotFound(f"{ledger.path} has no checkpoint to have vouched for; `ledger checkpoint` makes one")
        stored = there[-1]
    if stored.signed is None:
        raise BadNote(f"{stored.path}: {stored.problem}")
    at = stored.signed.checkpoint
    if at.origin != origin_of(ledger):
        raise Refused(f"{stored.path}: expected a checkpoint of {origin_of(ledger)}, got one of {at.origin}")
    seq, head = ledger.head()
    refuse_unless_extends(str(stored.path), at.size, at.root, roots_at(ledger, {at.size}, seq, head))
    return stored, at


def _draft(at: Checkpoint, token: bytes) -> Draft:
    name = describe_timestamp(token).name
    return Draft(Anchor(what="rfc3161", size=at.size, root=to_base64(at.root), key=name), blobs={"token": token})


def _unrecorded(ledger: Ledger, note_file: Path, note: bytes) -> list[bytes]:
    """Tokens over this note that lie beside it and that no event holds: a call was killed before it could say so."""
    known: set[bytes] = set()
    for each in anchors_of(ledger):
        if each.what == "rfc3161":
            try:
                known.add(ledger.blob(each.event, "token"))
            except NotFound:
                continue  # it was redacted
    found: list[bytes] = []
    for path in timestamp_paths(note_file):
        try:
            data = read_small(path, MAX_TOKEN)
            check_answer(data, note, None)
        except (OSError, BadNote):
            continue  # verify names it
        if data not in known:
            found.append(data)
    return found


def _store(note_file: Path, timestamp: Timestamp, token: bytes) -> Path:
    named = re.search(r"(?:^|,)(?:CN|O)=([^,]+)", timestamp.name)
    words = re.sub(r"[^a-z0-9]+", "-", (named[1] if named else timestamp.name).lower()).strip("-")[:40].strip("-")
    for number in range(1, _MOST_PER_AUTHORITY):
        name = f"{words or 'authority'}{'' if number == 1 else f'-{number}'}"
        target = note_file.with_name(f"{note_file.stem}.{name}.tsr")
        try:
            store(target, token)
        except LedgerExists:
            continue
        return target
    raise Refused(f"{note_file} has {_MOST_PER_AUTHORITY} timestamps of {words} already; nothing was stored")


def _post(url: str, query: bytes, seconds: float) -> bytes:
    """The body of the authority's answer. Raises NotTimestamped; no message shows a secret of the URL."""
    import httpx

    where, until = shown_url(url), time.monotonic() + seconds
    headers = {"Content-Type": _QUERY, "Accept": _REPLY, "Accept-Encoding": "identity"}
    try:
        with (
            httpx.Client(timeout=seconds, follow_redirects=False) as client,
            client.stream("POST", url, content=query, headers=headers) as response,
        ):
            if response.is_redirect:
                to = shown_url(str(response.url.join(response.headers.get("location", ""))))
                raise NotTimestamped(f"{where} sends on to {to}; give that as --url if it is the one you trust")
            if response.status_code != 200:
                raise NotTimestamped(
                    f"{where}: expected the status 200, got {response.status_code}; nothing was stored"
                )
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != _REPLY:
                raise NotTimestamped(
                    f"{where}: expected an answer of type {_REPLY}, got {kind[:80]!a}; nothing was stored"
                )
            found = b""
            for piece in response.iter_raw():
                found += piece
                if len(found) > MAX_TOKEN:
                    raise NotTimestamped(f"{where}: expected an answer of at most {MAX_TOKEN} bytes, got more")
                if time.monotonic() > until:
                    raise NotTimestamped(f"{where}: expected an answer within {seconds:g} s; nothing was stored")
            return found
    except httpx.TimeoutException:
        raise NotTimestamped(f"{where}: expected an answer within {seconds:g} s; nothing was stored") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
        said = str(problem) or type(problem).__name__
        raise NotTimestamped(f"{where} can't be reached: {said.replace(url, where)}; nothing was stored") from None
