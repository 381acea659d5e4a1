"""A timestamp vouches for one note, by whom and when, and for nothing once a bit of it is another."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger._errors import BadNote, BadProof
from ledger.checkpoints._peaks import peaks_text, read_peaks
from ledger.checkpoints._timestamp import check_answer, check_timestamp, describe_timestamp, make_query
from ledger.tree import Peaks, leaf_hash
from tests.ledger.checkpoints.authority import Authority, Certificates

NOTE = b"team/evals\n3\nroot\n\n\xe2\x80\x94 team/evals AAAA\n"


@pytest.fixture(scope="session")
def answered(authority: Authority) -> tuple[bytes, int]:
    """The token over NOTE, and the nonce that was asked with."""
    query = make_query(NOTE)
    return authority.answer(query.data), query.nonce


@pytest.fixture(scope="session")
def root(certificates: Certificates) -> bytes:
    return certificates.root.read_bytes()


def test_a_good_token_says_who_and_when(answered: tuple[bytes, int], root: bytes) -> None:
    token, nonce = answered
    found = check_timestamp(token, NOTE, [root])
    assert found.name == "CN=Loopback TSA,O=Loopback Time"
    assert abs(datetime.fromisoformat(found.at) - datetime.now(UTC)) < timedelta(minutes=5)
    assert found.at.endswith("Z")
    assert found == check_answer(token, NOTE, nonce) == describe_timestamp(token)


def test_openssl_verifies_what_we_store(
    answered: tuple[bytes, int], certificates: Certificates, tmp_path: Path
) -> None:
    (tmp_path / "note").write_bytes(NOTE)
    (tmp_path / "token.tsr").write_bytes(answered[0])
    command = ["openssl", "ts", "-verify", "-data", tmp_path / "note", "-in", tmp_path / "token.tsr",
               "-CAfile", certificates.root]  # fmt: skip
    assert "Verification: OK" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_token_over_another_note_vouches_for_nothing(answered: tuple[bytes, int], root: bytes) -> None:
    token, nonce = answered
    with pytest.raises(BadNote, match=r"expected a timestamp over these bytes \(sha256 .*got one over others"):
        check_timestamp(token, NOTE + b" ", [root])
    with pytest.raises(BadNote, match="over others"):
        check_answer(token, NOTE + b" ", nonce)


def test_another_nonce_than_the_one_asked_with_is_refused(answered: tuple[bytes, int]) -> None:
    token, nonce = answered
    with pytest.raises(BadNote, match="expected a timestamp with the nonce of our request, got another"):
        check_answer(token, NOTE, nonce + 1)


def test_only_the_roots_that_are_given_count(answered: tuple[bytes, int], root: bytes, tmp_path: Path) -> None:
    token, _ = answered
    other = Certificates(tmp_path, "Another Root").root.read_bytes()
    with pytest.raises(BadNote, match=r"that the given roots vouch for, .* unable to get local issuer"):
        check_timestamp(token, NOTE, [other])
    assert check_timestamp(token, NOTE, [other, root]) == check_timestamp(token, NOTE, [other + root])
    with pytest.raises(BadNote, match="got none"):
        check_timestamp(token, NOTE, [])
    with pytest.raises(BadNote, match="expected a root certificate as PEM"):
        check_timestamp(token, NOTE, [b"no certificate"])


def test_the_root_of_the_same_name_with_another_key_vouches_for_nothing(
    answered: tuple[bytes, int], tmp_path: Path
) -> None:
    with pytest.raises(BadNote, match="doesn't verify"):
        check_timestamp(answered[0], NOTE, [Certificates(tmp_path).root.read_bytes()])


def test_no_flipped_bit_makes_a_token_say_something_else(answered: tuple[bytes, int], root: bytes) -> None:
    """Some bits are under no signature (an algorithm's name said twice); with these the token says what it said."""
    token, _ = answered
    good = check_timestamp(token, NOTE, [root])
    refused = 0
    for at in range(len(token)):
        altered = bytearray(token)
        altered[at] ^= 1 << at % 8
        try:
            assert check_timestamp(bytes(altered), NOTE, [root]) == good
        except BadNote:
            refused += 1
    assert refused > len(token) * 0.95


@pytest.mark.parametrize(
    "data", [b"", b"<html>no</html>", b"\x30\x00", b"\x30\x05\x30\x03\x02\x01\x00", bytes(1 << 19)]
)
def test_what_is_no_token_is_one_sentence(data: bytes, root: bytes) -> None:
    for call in (lambda: describe_timestamp(data), lambda: check_timestamp(data, NOTE, [root])):
        with pytest.raises(BadNote, match="expected a timestamp response"):
            call()


def test_a_refusal_is_told_with_the_authority_s_reason(authority: Authority) -> None:
    with pytest.raises(BadNote, match=r"expected a granted timestamp, got the status 2: rejection \('.*'\)"):
        describe_timestamp(authority.answer(b"no query"))


def test_a_certificate_that_is_not_for_timestamps_vouches_for_nothing(
    answered: tuple[bytes, int], certificates: Certificates, root: bytes
) -> None:
    server = certificates.issue("server", subject="/CN=A Web Server", extensions="servers")
    token = server.signs_again(answered[0])
    assert describe_timestamp(token).name == "CN=A Web Server", "the token is whole, and signed by it"
    with pytest.raises(BadNote, match="unsuitable certificate purpose"):
        check_timestamp(token, NOTE, [root])


def test_a_stranger_s_certificate_in_the_token_lends_it_no_name(
    answered: tuple[bytes, int], authority: Authority, certificates: Certificates, root: bytes
) -> None:
    stranger = certificates.look_alike(authority.name, subject="A Name Everybody Knows")
    assert check_timestamp(authority.signs_again(answered[0]), NOTE, [root]).name == "CN=Loopback TSA,O=Loopback Time"
    token = authority.signs_again(answered[0], along=stranger)
    with pytest.raises(BadNote, match="two certificates with the number of the one that signed"):
        check_timestamp(token, NOTE, [root])


def test_a_certificate_counts_at_the_time_of_the_token_and_not_today(
    answered: tuple[bytes, int], certificates: Certificates
) -> None:
    since, until = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 12, 31, tzinfo=UTC)
    expired = certificates.issue_for("expired", subject="Time of 2020", since=since, until=until)
    roots = [certificates.older_root(since - timedelta(days=1))]
    then = expired.signs_again(answered[0], at=datetime(2020, 6, 1, 12, tzinfo=UTC))
    found = check_timestamp(then, NOTE, roots)
    assert (found.name, found.at) == ("CN=Time of 2020", "2020-06-01T12:00:00Z")
    for at in (datetime(2019, 12, 31, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)):
        with pytest.raises(BadNote, match=r"certificate (?:has expired|is not yet valid)"):
            check_timestamp(expired.signs_again(answered[0], at=at), NOTE, roots)


def test_peaks_come_back_as_they_were_written() -> None:
    peaks = Peaks()
    for number in range(100):
        data = peaks_text(number + 1, peaks)
        size, read = read_peaks(data)
        assert (size, read.size, read.hashes) == (number + 1, number, peaks.hashes)
        assert data.startswith(b"eval-ledger/peaks@v1\n")
        peaks.add(leaf_hash(b"%d" % number))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.replace(b"@v1", b"@v2"), "starts with the line"),
        (lambda data: data[:-1], "starts with the line"),
        (lambda data: data.replace(b"\n8\n", b"\n08\n"), "expected a size from 1"),
        (lambda data: data.replace(b"\n8\n", b"\n0\n"), "expected a size from 1"),
        (lambda data: data.replace(b"\n8\n", b"\n9\n"), "hashes of 32 bytes for the peaks of 8 leaves"),
        (lambda data: data.replace(b"=\n", b"\n", 1), "base64 of 32 bytes each"),
        (lambda data: data + b"\n", "base64|hashes of 32 bytes"),
        (lambda data: data + b"\xff\n", "in ASCII"),
        (lambda data: data * 100, "at most 8192 bytes"),
    ],
    ids=["version", "no end", "leading zero", "no event", "another size", "no base64", "empty line", "bytes", "long"],
)
def test_peaks_of_another_form_are_refused(change: object, said: str) -> None:
    peaks = Peaks()
    for number in range(7):
        peaks.add(leaf_hash(b"%d" % number))
    data = peaks_text(8, peaks)
    with pytest.raises(BadProof, match=said):
        read_peaks(change(data))  # type: ignore[operator]
