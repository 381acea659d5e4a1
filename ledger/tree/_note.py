"""Signed notes (c2sp.org/signed-note) with Ed25519: text, and lines that say who signed it.

Keys are written as golang.org/x/mod/sumdb/note writes them: a verifier key `NAME+ID+BASE64`, a signing key
`PRIVATE+KEY+NAME+ID+BASE64`, where the base64 is the algorithm's byte (1) and the 32 bytes of the key.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from ledger._errors import BadKey, BadNote

__all__ = ["MAX_NOTE", "Note", "Signature", "SigningKey", "VerifierKey", "from_base64", "parse_note", "to_base64"]

MAX_NOTE = 256 << 10
"""The largest note that is read; the specification asks for room for 16 signatures, and one may be up to 5 kB."""
_MAX_SIGNATURES = 64
_ED25519 = b"\x01"
_DASH = "\u2014 "
_PRIVATE = "PRIVATE+KEY+"
_MAX_KEY = 1024
_KEY = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")
_PRIME = 2**255 - 19
_SMALL_ORDER = frozenset(
    int.from_bytes(bytes.fromhex(each), "little")
    for each in (
        "00" * 32,
        "01" + "00" * 31,
        "ec" + "ff" * 30 + "7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
)
"""The y of the points whose order divides 8 (RFC 7748 section 6, RFC 8032): anybody can sign in such a key's name."""


def to_base64(data: bytes) -> str:
    """Standard base64 (RFC 4648 section 4)."""
    return b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes:
    """The bytes of standard base64, one spelling only. Raises ValueError."""
    data = b64decode(text.encode("ascii"), validate=True)
    if to_base64(data) != text:
        raise ValueError("not the canonical base64 of its bytes")
    return data


def _is_name(name: str) -> bool:
    """What a key may be called: no Unicode spaces, no plus, no control characters, and nothing that isn't UTF-8."""
    return bool(name) and not any(
        each == "+" or each.isspace() or each < " " or "\ud800" <= each <= "\udfff" for each in name
    )


def _key_id(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:4]


def _parse_key(text: str, what: str) -> tuple[str, bytes, bytes]:
    found = _KEY.fullmatch(text) if len(text) <= _MAX_KEY else None
    if found is None or not _is_name(found[1]):
        raise BadKey(f"expected a {what}, NAME+ID+BASE64, got {text[:12]!a}{'...' if len(text) > 12 else ''}")
    try:
        data = from_base64(found[3])
    except (Base64Error, ValueError):
        data = b""
    if len(data) != 33 or data[:1] != _ED25519:
        raise BadKey(f"the {what} of {found[1]!a}: expected an Ed25519 key (byte 1 and 32 bytes more), got another")
    return found[1], bytes.fromhex(found[2]), data[1:]


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """Who may have signed: a name, and an Ed25519 public key of 32 bytes."""

    name: str
    public: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Read `NAME+ID+BASE64`. Raises BadKey, also where the id isn't the key's."""
        whole = text.strip()
        if whole.startswith(_PRIVATE):
            raise BadKey(
                "expected a verifier key, NAME+ID+BASE64, got a signing key (not shown): keep that to yourself"
            )
        name, said, public = _parse_key(whole, "verifier key")
        if _key_id(name, public) != said:
            raise BadKey(
                f"the verifier key of {name!a}: expected the id {_key_id(name, public).hex()}, got {said.hex()}"
            )
        y = int.from_bytes(public, "little") & ((1 << 255) - 1)
        if y >= _PRIME or y in _SMALL_ORDER:
            raise BadKey(
                f"the verifier key of {name!a}: expected a point of full order, got one that anybody can sign for"
            )
        return cls(name, public)

    @property
    def id(self) -> bytes:
        """The key's id: 4 bytes, a name for it and nothing that proves anything."""
        return _key_id(self.name, self.public)

    @property
    def label(self) -> str:
        """`NAME+ID`, as people tell keys apart."""
        return f"{self.name}+{self.id.hex()}"

    def __str__(self) -> str:
        return f"{self.label}+{to_base64(_ED25519 + self.public)}"

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether this key made the signature (RFC 8032) of the message."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """Who signs. The seed shows in no repr and no message."""

    name: str
    seed: bytes = field(repr=False)

    @classmethod
    def generate(cls, name: str) -> SigningKey:
        """A new key. Raises BadKey for a name that no key may have."""
        from secrets import token_bytes

        if not _is_name(name):
            raise BadKey(f"expected a key's name without spaces and plus signs, got {name!a}")
        return cls(name, token_bytes(32))

    @classmethod
    def parse(cls, text: str) -> SigningKey:
        """Read `PRIVATE+KEY+NAME+ID+BASE64`. Raises BadKey, which never quotes the key."""
        whole = text.strip()
        if not whole.startswith(_PRIVATE):
            raise BadKey("expected a signing key, PRIVATE+KEY+NAME+ID+BASE64, got something else (not shown)")
        try:
            name, said, seed = _parse_key(whole.removeprefix(_PRIVATE), "signing key")
        except BadKey:
            raise BadKey(
                "expected a signing key, PRIVATE+KEY+NAME+ID+BASE64, with an Ed25519 seed (not shown)"
            ) from None
        key = cls(name, seed)
        if key.verifier.id != said:
            raise BadKey(f"the signing key of {name!a}: expected the id {key.verifier.id.hex()}, got {said.hex()}")
        return key

    @property
    def verifier(self) -> VerifierKey:
        """The public half."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return VerifierKey(self.name, Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw())

    def secret_text(self) -> str:
        """The key as its file holds it."""
        return f"{_PRIVATE}{self.verifier.label}+{to_base64(_ED25519 + self.seed)}"

    def sign(self, text: str) -> Note:
        """Text as a note with one signature. Raises BadNote for text that no note can hold."""
        if not text.endswith("\n") or any(
            (each < " " and each != "\n") or "\ud800" <= each <= "\udfff" for each in text
        ):
            raise BadNote("expected a text for a note: UTF-8 without control characters that ends in a newline")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        made = Ed25519PrivateKey.from_private_bytes(self.seed).sign(text.encode())
        return Note(text, (Signature(self.name, self.verifier.id, made),))


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: whose it says it is, the key's id (4 bytes), and the signature itself, of any algorithm."""

    name: str
    id: bytes
    data: bytes

    @property
    def label(self) -> str:
        """`NAME+ID`."""
        return f"{self.name}+{self.id.hex()}"

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {to_base64(self.id + self.data)}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text and who signed it. Nothing in it is to be believed before `signed_by` found a key that one trusts."""

    text: str
    signatures: tuple[Signature, ...]

    def __bytes__(self) -> bytes:
        return (self.text + "\n" + "".join(f"{each}\n" for each in self.signatures)).encode()

    def signed_by(self, keys: Sequence[VerifierKey]) -> tuple[VerifierKey, ...]:
        """Which of the keys signed it. Raises BadNote where a line claims one of them and its signature isn't right.

        Lines of other keys are passed over, as the specification asks.
        """
        found: list[VerifierKey] = []
        for key in keys:
            for each in self.signatures:
                if (each.name, each.id) != (key.name, key.id):
                    continue
                if not key.signed(self.text.encode(), each.data):
                    raise BadNote(f"expected a signature by {key.label}, got one that isn't that key's for this text")
                if key not in found:
                    found.append(key)
        return tuple(found)


def parse_note(data: bytes) -> Note:
    """Read a signed note; its signatures aren't checked here. Raises BadNote."""
    if len(data) > MAX_NOTE:
        raise BadNote(f"expected a signed note of at most {MAX_NOTE} bytes, got {len(data)}")
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadNote(f"expected a signed note in UTF-8, got {problem.reason} at byte {problem.start}") from None
    odd = next((each for each in whole if each < " " and each != "\n"), None)
    if odd is not None:
        raise BadNote(f"expected a signed note without control characters, got {odd!a}")
    text, blank, rest = whole.rpartition("\n\n")
    if not blank or not rest.endswith("\n"):
        raise BadNote("expected a signed note: text, an empty line, and signature lines that end in a newline")
    lines = rest[:-1].split("\n")
    if len(lines) > _MAX_SIGNATURES:
        raise BadNote(f"expected at most {_MAX_SIGNATURES} signatures, got {len(lines)}")
    return Note(text + "\n", tuple(_signature(line) for line in lines))


def _signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not _is_name(name):
        raise BadNote(f"expected a signature line, '\u2014 NAME BASE64', got {line[:60]!a}")
    try:
        data = from_base64(encoded)
    except (Base64Error, ValueError):
        data = b""
    if len(data) < 5:
        raise BadNote(f"the signature line of {name!a}: expected base64 of an id and a signature, got {encoded[:40]!a}")
    return Signature(name, data[:4], data[4:])
