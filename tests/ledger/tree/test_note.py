"""Signed notes and their keys: Go's example to the byte, every flipped bit, and what is said about bad ones."""

from __future__ import annotations

import contextlib
import re
from base64 import b64decode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger._errors import BadKey, BadNote
from ledger.tree import SigningKey, VerifierKey, from_base64, parse_note, to_base64
from tests.ledger.tree.vectors import vectors

# The example keys of golang.org/x/mod/sumdb/note; its tests publish the signing key.
GO_SIGNING = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_VERIFIER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_SIGNATURE = (
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
KEY = SigningKey("ledger.example/0123", sha256(b"a key for tests").digest())
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=[chr(c) for c in range(32)])).map(
    lambda text: text + "\n"
)


def labels(data: bytes, *keys: VerifierKey) -> list[str]:
    """Who signed; nobody where the note is refused."""
    try:
        return [each.label for each in parse_note(data).signed_by(keys)]
    except BadNote:
        return []


def test_gos_example_key_signs_gos_example_note_to_the_byte() -> None:
    key = SigningKey.parse(GO_SIGNING)
    assert str(key.verifier) == GO_VERIFIER
    assert key.verifier == VerifierKey.parse(GO_VERIFIER)
    assert bytes(key.sign(GO_TEXT)) == f"{GO_TEXT}\n{GO_SIGNATURE}".encode()
    assert key.secret_text() == GO_SIGNING
    assert labels(bytes(key.sign(GO_TEXT)), key.verifier) == ["PeterNeumann+c74f20a3"]


def test_each_bit_of_a_note_flipped_leaves_it_unsigned() -> None:
    whole = bytes(KEY.sign("a text\n\nof three lines\n"))
    assert labels(whole, KEY.verifier) == [KEY.verifier.label]
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        assert labels(bytes(flipped), KEY.verifier) == [], bit


def test_each_byte_cut_from_a_note_or_put_in_leaves_it_unsigned() -> None:
    whole = bytes(KEY.sign("a text\n\nof three lines\n"))
    for at in range(len(whole) + 1):
        assert labels(whole[:at], KEY.verifier) == ([KEY.verifier.label] if at == len(whole) else [])
        assert labels(whole[at + 1 :], KEY.verifier) == []
        for more in (b"\n", b" ", b"=", b"\x00", b"\xe2\x80\x94 "):
            assert labels(whole[:at] + more + whole[at:], KEY.verifier) == [], (at, more)


@given(TEXTS)
def test_what_is_signed_reads_back_whatever_the_text_holds(text: str) -> None:
    note = KEY.sign(text)
    again = parse_note(bytes(note))
    assert (again, bytes(again)) == (note, bytes(note))
    assert again.signed_by([KEY.verifier]) == (KEY.verifier,)


@given(st.binary(max_size=200) | TEXTS.map(str.encode), st.binary(max_size=30))
def test_whatever_the_bytes_a_note_is_read_or_refused(head: bytes, tail: bytes) -> None:
    for data in (
        head,
        head + b"\n\n" + tail,
        head + b"\n" + GO_SIGNATURE.encode() + tail,
        tail + bytes(KEY.sign("a\n")),
    ):
        with contextlib.suppress(BadNote):
            assert bytes(parse_note(data)) == data


def test_every_note_that_reads_is_written_as_it_was() -> None:
    for row in vectors("notes"):
        try:
            assert bytes(parse_note(row["note"])) == row["note"]
        except BadNote:
            assert row["signed_by"] is None


@pytest.mark.parametrize("text", ["", "no newline", "a\r\n", "a\tb\n", "a\x00\n", "\ud800\n"])
def test_a_text_that_no_note_holds_isnt_signed(text: str) -> None:
    with pytest.raises(BadNote, match="expected a text for a note"):
        KEY.sign(text)


def test_two_keys_of_one_name_are_told_apart_by_their_ids() -> None:
    other = SigningKey(KEY.name, sha256(b"another key").digest())
    note = bytes(other.sign("a\n"))
    assert labels(note, KEY.verifier) == []
    assert labels(note, KEY.verifier, other.verifier) == [other.verifier.label]


def test_a_key_that_is_given_twice_is_found_once() -> None:
    note = KEY.sign("a\n")
    assert note.signed_by([KEY.verifier, KEY.verifier]) == (KEY.verifier,)


def test_who_shares_a_keys_name_and_id_but_not_the_key_has_the_note_refused() -> None:
    # 4 bytes of id can be searched for; then the signature is checked with the key that one was given, and fails.
    forger = SigningKey(KEY.name, sha256(b"a forger").digest())
    forged = forger.sign("a\n")
    line = f"\u2014 {KEY.name} {to_base64(KEY.verifier.id + forged.signatures[0].data)}\n"
    with pytest.raises(BadNote, match=re.escape(f"expected a signature by {KEY.verifier.label}")):
        parse_note(f"a\n\n{line}".encode()).signed_by([KEY.verifier])


def test_a_note_that_is_too_long_or_signed_too_often_is_refused() -> None:
    fits = "x" * ((256 << 10) - len(bytes(KEY.sign("\n")))) + "\n"
    assert labels(bytes(KEY.sign(fits)), KEY.verifier) == [KEY.verifier.label]
    with pytest.raises(BadNote, match="of at most 262144 bytes, got 262145"):
        parse_note(bytes(KEY.sign("x" + fits)))
    line = str(KEY.sign("a\n").signatures[0])
    assert len(parse_note(("a\n\n" + f"{line}\n" * 64).encode()).signatures) == 64
    with pytest.raises(BadNote, match="at most 64 signatures, got 65"):
        parse_note(("a\n\n" + f"{line}\n" * 65).encode())


def test_a_refusal_is_one_line_of_printable_ascii_or_a_dash() -> None:
    for row in vectors("notes"):
        if row["signed_by"] is None:
            with pytest.raises(BadNote) as refused:
                parse_note(row["note"]).signed_by([VerifierKey.parse(key) for key in row["keys"]])
            said = str(refused.value).replace("\u2014", "-")
            assert said.isascii() and said.isprintable() and 20 < len(said) < 300, said
    for row in vectors("keys"):
        if not row["ok"]:
            with pytest.raises(BadKey) as refused:
                VerifierKey.parse(row["key"])
            said = str(refused.value)
            assert said.isascii() and said.isprintable() and 20 < len(said) < 300, said


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "a+" * 500_000, "\udcff+00000000+AAAA", "a\ud800+00000000+" + "A" * 44]
)
def test_a_key_from_a_command_line_may_be_anything(text: str) -> None:
    for read in (VerifierKey.parse, SigningKey.parse, lambda each: SigningKey.parse("PRIVATE+KEY+" + each)):
        with pytest.raises(BadKey, match="expected a"):
            read(text)


def test_a_keys_name_may_be_long_but_not_without_end() -> None:
    long = SigningKey("x" * 900, KEY.seed)
    assert VerifierKey.parse(str(long.verifier)) == long.verifier
    assert SigningKey.parse(long.secret_text()) == long
    longer = SigningKey("x" * 1000, KEY.seed)
    for read, text in ((VerifierKey.parse, str(longer.verifier)), (SigningKey.parse, longer.secret_text())):
        with pytest.raises(BadKey, match="expected a"):
            read(text)


def test_white_space_around_a_key_is_a_files() -> None:
    assert VerifierKey.parse(f" {GO_VERIFIER}\r\n") == VerifierKey.parse(GO_VERIFIER)
    assert SigningKey.parse(GO_SIGNING + "\n") == SigningKey.parse(GO_SIGNING)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u3000b", "a\x00", "\udcff"])
def test_no_key_is_made_with_a_name_that_no_key_may_have(name: str) -> None:
    with pytest.raises(BadKey, match="expected a key's name"):
        SigningKey.generate(name)


def test_each_new_key_is_another_and_reads_back_from_its_text() -> None:
    one, two = SigningKey.generate("a.example/x"), SigningKey.generate("a.example/x")
    assert one.seed != two.seed
    assert SigningKey.parse(one.secret_text()) == one
    assert VerifierKey.parse(str(one.verifier)) == one.verifier


def test_a_signing_key_shows_in_no_repr_and_no_message() -> None:
    seed = KEY.secret_text().rsplit("+", 1)[1]
    assert seed not in repr(KEY) and KEY.seed.hex() not in repr(KEY) and repr(KEY.seed)[2:-1] not in repr(KEY)
    name, key_id, _ = KEY.secret_text().removeprefix("PRIVATE+KEY+").split("+", 2)
    for text in (
        KEY.secret_text() + "x",
        KEY.secret_text()[:-1],
        f"PRIVATE+KEY+{name}+00000000+{seed}",
        f"PRIVATE+KEY+{name}+{key_id}+{seed[:-4]}",
        f"PRIVATE+KEY+{seed}",
        f"PRIVATE+{seed}",
    ):
        for read in (SigningKey.parse, VerifierKey.parse):
            with pytest.raises(BadKey) as refused:
                read(text)
            assert not any(seed[at : at + 8] in str(refused.value) for at in range(len(seed) - 8))


def test_a_signing_key_where_a_verifier_key_belongs_is_called_what_it_is() -> None:
    with pytest.raises(BadKey, match=r"got a signing key \(not shown\)"):
        VerifierKey.parse(GO_SIGNING)


def test_the_points_that_are_refused_are_the_curves_points_of_small_order_and_no_others() -> None:
    # Edwards addition (RFC 8032 section 5.1.4), affine: -x^2 + y^2 = 1 + d x^2 y^2.
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p

    def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        (a, b), (c, e) = one, other
        k = d * a * b * c * e
        return (a * e + b * c) * pow(1 + k, -1, p) % p, (b * e + a * c) * pow(1 - k, -1, p) % p

    def root(square: int) -> int:
        found = pow(square, (p + 3) // 8, p)
        return found if found * found % p == square % p else found * pow(2, (p - 1) // 4, p) % p

    rows = [row for row in vectors("keys") if "small order" in row["name"] or "order 8" in row["name"]]
    weak = {row["key"]: b64decode(row["key"].split("+", 2)[2])[1:] for row in rows}
    ys = {int.from_bytes(each, "little") % 2**255 % p for each in weak.values()}
    points = set[tuple[int, int]]()
    for y in ys:
        x = root((y * y - 1) * pow(d * y * y + 1, -1, p))
        assert (-x * x + y * y - 1 - d * x * x * y * y) % p == 0
        points |= {(x, y), (-x % p, y)}
    assert len(points) == 8  # the curve's cofactor: there are no more of them
    for point in points:
        twice = add(point, point)
        four = add(twice, twice)
        assert add(four, four) == (0, 1)
    for text in weak:
        with pytest.raises(BadKey, match="one that anybody can sign for"):
            VerifierKey.parse(text)


@given(st.binary(max_size=80))
def test_base64_has_one_spelling(data: bytes) -> None:
    text = to_base64(data)
    assert from_base64(text) == data
    for other in (text + "=", text[:-1], text + "\n", " " + text, text.replace("=", ""), text.replace("+", "-")):
        if other != text:
            with contextlib.suppress(ValueError):
                assert to_base64(from_base64(other)) == other != text
