"""Many texts at once, and the command that reads one."""

import json
import subprocess
import sys

import pytest

from harness._errors import UsageError
from harness.parse import ReadRules
from harness.parse._lines import read_lines

DEFAULT = ReadRules.default()


def lines(*rows: object) -> list[str]:
    """What comes out for these rows."""
    return list(read_lines([json.dumps(row).encode() for row in rows], DEFAULT))


def test_a_value_comes_out_as_it_was_written() -> None:
    (line,) = lines(
        {"id": "x", "text": '{"n": 12345678901234567890123, "m": 1.10, "e": 1E2}', "ask": "object", "stop": "end"}
    )
    assert line == (
        '{"id":"x","status":"parsed","reason":null,"value":{"n":12345678901234567890123,"m":1.10,"e":1E2},"flags":[]}'
    )


def test_a_line_is_printable_ascii_whatever_was_read() -> None:
    text = '{"t":"\u2028\u0085\x7f\U0001f600 é"}'
    (line,) = lines({"id": 1, "text": text, "ask": "object", "stop": None})
    assert line.isascii() and line.isprintable()
    assert json.loads(line)["value"] == json.loads(text)


def test_half_a_surrogate_pair_in_a_text_has_a_name() -> None:
    (line,) = read_lines([b'{"id":"x","text":"\\ud800","ask":"text","stop":"end"}'], DEFAULT)
    assert json.loads(line)["reason"] == "lone_surrogate"


def test_bytes_stand_in_for_a_text() -> None:
    (line,) = lines({"id": "x", "bytes_b64": "e30=", "ask": "object", "stop": "end"})
    assert json.loads(line)["value"] == {}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "line 2 of the input is not a JSON object"),
        (b"[1]", "is not a JSON object"),
        (b'{"id":"x","id":"y"}', "is not a JSON object"),
        (b"\xff", "is not UTF-8 at byte 0"),
        (b'{"text":"x","ask":"text"}', "has no id"),
        (b'{"id":"x","text":"x","ask":"xml"}', "asks for 'xml'"),
        (b'{"id":"x","text":"x","ask":["text"]}', "asks for"),
        (b'{"id":"x","text":"x","ask":"text","stop":"soon"}', "has the stop 'soon'"),
        (b'{"id":"x","ask":"text"}', "either text or bytes_b64"),
        (b'{"id":"x","text":3,"ask":"text"}', "not a string"),
        (b'{"id":"x","bytes_b64":"e3 0=","ask":"text"}', "not base64"),
        (b'{"id":"x","text":"","ask":"text","rules":1}', "unknown field 'rules'"),
    ],
)
def test_a_line_that_is_none_is_refused_by_its_number(line: bytes, complaint: str) -> None:
    with pytest.raises(UsageError, match="line 2") as refused:
        list(read_lines([b"\n", line], DEFAULT))
    assert complaint in str(refused.value)


def parse(*arguments: str, data: bytes = b'{"a":1}') -> subprocess.CompletedProcess[bytes]:
    """`harness parse` with these arguments."""
    command = [sys.executable, "-c", "from harness.cli import main; main()", "parse", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=False)


def test_the_command_reads_standard_input() -> None:
    done = parse("--ask", "object", "--stop", "end", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == {"status": "parsed", "reason": None, "value": {"a": 1}, "flags": []}


def test_the_command_shows_untrusted_text_as_escapes_and_says_why() -> None:
    done = parse("--ask", "text", data=b"ok \xc2\x9b31m \xe2\x80\xae")
    assert done.returncode == 0
    assert done.stdout.isascii() and b"\\u009b31m" in done.stdout
    done = parse("--ask", "object", data=b'{"a":1,}')
    assert done.returncode == 1
    assert b"trailing_comma: A comma stands before a closing bracket." in done.stdout


def test_the_command_reads_lines_and_refuses_a_bad_one() -> None:
    row = b'{"id":"x","text":"{}","ask":"object","stop":"end"}\n'
    done = parse("--lines", "--json", data=row + row)
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["x", "x"]
    done = parse("--lines", data=b"oops\n")
    assert done.returncode == 2
    assert b"line 1 of the input" in done.stderr


def test_the_command_says_what_it_can_be_asked_for() -> None:
    for arguments in ((), ("--ask", "xml"), ("--ask", "text", "--stop", "soon"), ("--ask", "text", "--rules", "nope")):
        done = parse(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(b"error: ") and b"Traceback" not in done.stderr
