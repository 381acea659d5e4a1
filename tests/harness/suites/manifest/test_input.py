"""What a case may ask is found out when it is loaded; each mistake is one sentence that says where."""

from __future__ import annotations

import pytest

from harness._json import loads
from harness.suites.manifest._input import check_input, images_of, plain


@pytest.mark.parametrize(
    "text",
    [
        '"Why?"', '{"question": "Why?"}', '{"question": ""}', '{"n": 1.5, "l": [1, null], "o": {}}',
        '{"messages": [{"role": "user", "content": "hi"}]}',
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "t"},'
        ' {"type": "image", "media_type": "image/jpeg", "data": "aGk="}, {"type": "input_audio", "x": 1}]}]}',
        '{"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}]}',
        '{"q": "x", "tools": [], "response_format": {"type": "json_schema", "json_schema": {"multipleOf": 0.01}}}',
        '{"q": "x", "images": [{"type": "image", "media_type": "image/png", "data": "aGk="}]}',
        '{"q": "x", "images": "two of them"}',
    ],
)  # fmt: skip
def test_what_can_be_asked_is_let_through(text: str) -> None:
    assert check_input(loads(text)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('""', "input: expected a text, got one that is empty"),
        ('" \\n"', "input: expected a text, got one that is empty"),
        ("null", "input: expected a text or an object with named fields, got null"),
        ("[]", "got a list"),
        ("1.5", "got a number"),
        ("{}", "got an object with none"),
        ('{"messages": []}', "input.messages: expected at least one message, got an empty list"),
        ('{"messages": "hi"}', "input.messages: expected a list of messages, got a text"),
        ('{"messages": ["hi"]}', 'input.messages[0]: expected {"role", "content"}, got a text'),
        ('{"messages": [{"role": "tool", "content": "x"}]}', "input.messages[0].role: expected one of system, user"),
        ('{"messages": [{"content": "x"}]}', "input.messages[0].role: expected one of system, user, assistant, got no"),
        ('{"messages": [{"role": "user"}]}', "input.messages[0].content: expected a text or a list of parts, got noth"),
        ('{"messages": [{"role": "user", "content": " "}]}', "input.messages[0].content: expected a text, got one tha"),
        ('{"messages": [{"role": "user", "content": []}]}', "input.messages[0].content: expected a text or a list"),
        ('{"messages": [{"role": "user", "content": ["x"]}]}', "input.messages[0].content[0]: expected an object"),
        ('{"messages": [{"role": "user", "content": [{"type": "text"}]}]}', "content[0].text: expected a text, got nu"),
        ('{"messages": [{"role": "system", "content": "x"}]}', "expected at least one turn of the user"),
        ('{"messages": [{"role": "user", "content": [{"type": "image", "data": "aGk="}]}]}', ".media_type: expected"),
        ('{"images": [{"type": "image", "media_type": "text/html", "data": "aGk="}]}', "input.images[0].media_type: e"),
        ('{"images": [{"type": "image", "media_type": "image/png", "data": "aGk"}]}', "input.images[0].data: expected"),
        ('{"images": [{"type": "image", "media_type": "image/png", "data": "a b="}]}', "input.images[0].data: expecte"),
        ('{"images": [{"type": "image", "media_type": "image/png", "data": ""}]}', "got an empty text"),
        ('{"images": [{"type": "image", "media_type": "image/png", "url": "u"}]}', "and not 'url'"),
        ('{"q": 1, "tools": {"a": 1}}', "input.tools: expected a list of objects"),
        ('{"q": 1, "tools": ["a"]}', "input.tools: expected a list of objects"),
        ('{"q": 1, "response_format": "json"}', "input.response_format: expected an object, got a text"),
        ('{"q": 1, "tools": [{"x": 0.12345678901234567890123}]}', "input.tools: a request can't carry the number 0.12"),
        ('{"q": 1, "tools": [{"x": 1e999}]}', "input.tools: a request can't carry the number"),
    ],
)  # fmt: skip
def test_what_cant_be_asked_is_one_sentence(text: str, words: str) -> None:
    fault = check_input(loads(text))
    assert fault is not None
    assert words in fault
    assert "\n" not in fault


def test_numbers_of_a_request_keep_their_value() -> None:
    value = loads('{"a": [1.50, 1e3, 7, true, null, "1.50"]}')
    assert plain(value) == {"a": [1.5, 1000.0, 7, True, None, "1.50"]}
    assert images_of(value) == []
