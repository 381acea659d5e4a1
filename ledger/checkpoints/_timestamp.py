"""Timestamps (RFC 3161): an authority outside signs that a checkpoint's bytes were there at a time.

A token is the authority's whole response, as it sent it. It vouches for the note byte for byte, and for nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from hashlib import new as hash_by_name
from typing import TYPE_CHECKING, TypeVar

from ledger._errors import BadNote

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from rfc3161_client import TimeStampResponse

__all__ = [
    "MAX_TOKEN",
    "Query",
    "Timestamp",
    "certificates_in",
    "check_answer",
    "check_timestamp",
    "describe_timestamp",
    "make_query",
]

_T = TypeVar("_T")
MAX_TOKEN = 256 << 10
"""The most bytes of a response that are read. Those of public authorities have 3 to 7 kB, certificates included."""
_HASHES = {
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}
_REASON = re.compile(r"Verify error: ([^\"]+)")
"""The sentence in OpenSSL's stack of errors, under places in its source."""
_STATUS = (
    "granted", "granted with modifications", "rejection", "waiting", "a revocation warning", "a revocation notice",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Who vouched, as the certificate names them (RFC 4514), and at what time: UTC, ISO 8601."""

    name: str
    at: str


@dataclass(frozen=True, slots=True)
class Query:
    """A request for a timestamp: its bytes, and the nonce that the answer must repeat."""

    data: bytes
    nonce: int


def make_query(note: bytes) -> Query:
    """Ask for a timestamp over a note: its SHA-256 and a nonce go out, and nothing else of it."""
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    made = TimestampRequestBuilder(data=note, hash_algorithm=HashAlgorithm.SHA256).build()
    nonce = made.nonce
    assert nonce is not None, "the builder was asked for a nonce"
    return Query(made.as_bytes(), nonce)


def check_answer(token: bytes, note: bytes, nonce: int | None) -> Timestamp:
    """Check an answer against what was asked: status, nonce (unless None), digest. Who signed it isn't checked here.

    Raises BadNote, saying what it is instead.
    """
    response = _granted(token)
    got = _read(lambda: response.tst_info.nonce)
    if nonce is not None and got != nonce:
        raise BadNote(f"expected a timestamp with the nonce of our request, got {'another' if got else 'none'}")
    _check_imprint(response, note)
    return _timestamp(response)


def describe_timestamp(token: bytes) -> Timestamp:
    """Who a token says it is from, and the time in it. Nothing of it is checked. Raises BadNote for no such token."""
    return _timestamp(_granted(token))


def check_timestamp(token: bytes, note: bytes, roots: Sequence[bytes]) -> Timestamp:
    """Check a token: over these bytes, signed by a certificate for timestamps that leads to one of the roots, which
    was valid at the time of the token. `roots` are PEM files' bytes, of one certificate or several.

    Raises BadNote, saying what is wrong.
    """
    from rfc3161_client import VerificationError, VerifierBuilder

    trusted = [each for root in roots for each in certificates_in(root)]
    if not trusted:
        raise BadNote("expected a root certificate to check the timestamp against, got none")
    response = _granted(token)
    _check_imprint(response, note)
    timestamp = _timestamp(response)
    verifier = VerifierBuilder(roots=trusted).build()
    try:
        _read(lambda: verifier.verify_message(response, note))
    except VerificationError as problem:
        why = _REASON.findall(str(problem))
        raise BadNote(
            f"expected a timestamp of {timestamp.name} that the given roots vouch for, got one that doesn't verify:"
            f" {why[-1] if why else problem}"
        ) from None
    return timestamp


def certificates_in(pem: bytes) -> list[Certificate]:
    """The certificates of a PEM file. Raises BadNote for a file of something else, or of none."""
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(pem)
    except ValueError:
        raise BadNote("expected a root certificate as PEM (-----BEGIN CERTIFICATE-----), got something else") from None


def _granted(token: bytes) -> TimeStampResponse:
    from rfc3161_client import decode_timestamp_response

    if len(token) > MAX_TOKEN:
        raise BadNote(f"expected a timestamp response of at most {MAX_TOKEN} bytes, got {len(token)}")
    response = _read(lambda: decode_timestamp_response(token))
    status = int(response.status)
    if status:
        # RFC 3161 section 2.4.2: a token comes with 0, and with 1 for something other than what was asked.
        said = _STATUS[status] if 0 < status < len(_STATUS) else "one that RFC 3161 doesn't have"
        why = f" ({'; '.join(response.status_string)[:200]!a})" if response.status_string else ""
        raise BadNote(f"expected a granted timestamp, got the status {status}: {said}{why}")
    return response


def _check_imprint(response: TimeStampResponse, note: bytes) -> None:
    imprint = _read(lambda: response.tst_info.message_imprint)
    name = _HASHES.get(imprint.hash_algorithm.dotted_string)
    if name is None:
        raise BadNote(f"expected a timestamp over SHA-256, 384 or 512, got {imprint.hash_algorithm.dotted_string}")
    wanted = hash_by_name(name, note).digest()
    if imprint.message != wanted:
        raise BadNote(
            f"expected a timestamp over these bytes ({name} {wanted.hex()[:16]}...), got one over others"
            f" ({imprint.message.hex()[:16]}...)"
        )


def _timestamp(response: TimeStampResponse) -> Timestamp:
    at = _read(lambda: response.tst_info.gen_time)
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return Timestamp(_read(lambda: _signer(response)), at.astimezone(UTC).isoformat().replace("+00:00", "Z"))


def _signer(response: TimeStampResponse) -> str:
    """The subject of the certificate that the token's signer names; the signer's issuer and number without it."""
    from cryptography.x509 import load_der_x509_certificate

    (signer,) = response.signed_data.signer_infos
    found = [
        each
        for each in map(load_der_x509_certificate, response.signed_data.certificates)
        if (each.issuer, each.serial_number) == (signer.issuer, signer.serial_number)
    ]
    if len(found) > 1:
        # Nobody signed the list of certificates: which of two would be checked, and which named?
        raise ValueError("two certificates with the number of the one that signed")
    return found[0].subject.rfc4514_string() if found else f"{signer.serial_number} of {signer.issuer.rfc4514_string()}"


def _read(part: Callable[[], _T]) -> _T:
    """A part of a token, parsed just now: whatever a stranger's bytes make the parser say is a BadNote."""
    try:
        return part()
    except Exception as problem:
        if type(problem).__name__ == "VerificationError":
            raise
        raise BadNote(f"expected a timestamp response (RFC 3161), got something else: {problem}") from None
    except BaseException as panic:
        # So the parser's language reports a fault of its own: not an Exception, and yet no wish to stop.
        if type(panic).__name__ != "PanicException":
            raise
        raise BadNote("expected a timestamp response (RFC 3161), got bytes that its parser gives up on") from None
