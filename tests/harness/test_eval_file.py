"""eval.toml: what it says is read whole, and every mistake is one sentence with the file and the key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness._asked import Flags, read_asked
from harness._errors import UsageError
from harness._eval_file import read_eval_file
from harness._matrix import spread

DOCS = Path(__file__).resolve().parents[2] / "docs" / "RUNS.md"
README = DOCS.parents[1] / "README.md"
BLOCKS = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8") + README.read_text("utf-8"), re.DOTALL)


def read(folder: Path, text: str) -> list[str]:
    path = folder / "eval.toml"
    path.write_text(text, "utf-8")
    return [spec.label or spec.engine for spec in spread(read_eval_file(path).matrix)]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_of_the_docs_is_read(block: str, tmp_path: Path) -> None:
    path = tmp_path / "eval.toml"
    path.write_text(block, "utf-8")
    assert read_asked(Flags(file=path)).job.specs()


def test_the_docs_have_examples() -> None:
    assert len(BLOCKS) >= 3


def test_the_docs_name_every_key_there_is() -> None:
    from harness import _eval_file

    text = DOCS.read_text("utf-8")
    keys = (*_eval_file._KEYS, *_eval_file._CANDIDATE_KEYS)  # pyright: ignore[reportPrivateUsage]
    assert [
        key for key in keys if f"`{key}`" not in text and f"`[{key}]`" not in text and f"[[{key}]]" not in text
    ] == []


def test_every_key_comes_through(tmp_path: Path) -> None:
    (tmp_path / "eval.toml").write_text(
        'suite = "s"\nmodels = ["openai/a"]\nrules = ["r"]\nepochs = 2\nlimit = 3\narm = "x"\nname = "n"\n'
        'tags = ["t"]\n'
        'note = "why"\nfilter = ["meta.a=1", "id!=x"]\nstream = true\nreuse = true\nmax_connections = 4\n'
        'max_retries = 0\nmax_wait = 5\ntimeout = 1.5\nmax_cost = 2.50\nmax_tokens_total = 1000\nprices = "p.toml"\n'
    )
    asked = read_asked(Flags(file=tmp_path / "eval.toml"))
    job, options = asked.job, asked.job.options
    assert (job.suite, job.rules, job.note, job.filters) == ("s", ("r",), "why", ("meta.a=1", "id!=x"))
    assert (options.epochs, options.limit, options.arm, options.name, options.tags) == (2, 3, "x", "n", ("t",))
    assert (options.reuse, options.max_connections, options.timeout) == (True, 4, 1.5)
    assert (options.patience.max_retries, options.patience.max_wait) == (0, 5.0)
    assert [spec.stream for spec in job.specs()] == [True]
    assert (asked.max_cost, asked.max_tokens_total, asked.prices) == ("2.50", 1000, "p.toml")


def test_addresses_are_by_model_and_a_candidate_of_its_own_goes_first(tmp_path: Path) -> None:
    (tmp_path / "eval.toml").write_text(
        'suite = "s"\nmodels = ["openai/a", "openai/b"]\nbase_url = "http://all"\n'
        '[base_urls]\n"openai/b" = "http://b"\n[[candidate]]\nmodel = "openai/c"\nbase_url = "http://c"\n'
        '[[candidate]]\nmodel = "openai/d"\nleave_out = ["temperature"]\nprompt = "own"\n'
    )
    found = spread(read_eval_file(tmp_path / "eval.toml").matrix)
    assert [spec.base_url for spec in found] == ["http://all", "http://b", "http://c", "http://all"]
    assert (found[3].parameters, found[3].prompt) == ({"temperature": None}, "own")


def test_a_list_under_parameters_is_one_value_and_under_matrix_a_dimension(tmp_path: Path) -> None:
    head = 'suite = "s"\nmodels = ["m/m"]\n'
    assert read(tmp_path, head + '[parameters]\nstop = ["a", "b"]') == ["m/m"]
    assert read(tmp_path, head + '[matrix]\nstop = ["a", "b"]') == ["m/m[stop=a]", "m/m[stop=b]"]
    assert read(tmp_path, head + '[matrix]\nstop = [["a", "b"], ["c"]]') == ['m/m[stop=("a","b")]', 'm/m[stop=("c")]']


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("suite = ", "expected TOML"),
        ("modles = []", "unknown key 'modles'; did you mean models?"),
        ("zzz = 1", "unknown key 'zzz'; there are suite, models,"),
        ("models = []", "models: the list is empty; put an engine there, such as models = "),
        ('models = "openai/a"', "models: expected a list of texts, got 'openai/a'"),
        ('models = ["a/b", "a/b"]', "models: 'a/b' stands there twice"),
        ("models = [1]", "models: expected a list of texts, got [1]"),
        ("epochs = 0", "epochs: expected a whole number from 1, got 0"),
        ("epochs = true", "epochs: expected a whole number from 1, got True"),
        ("epochs = 2.50", "epochs: expected a whole number from 1, got 2.50"),
        ("max_connections = 5000", "max_connections: expected a whole number from 1 to 1000, got 5000"),
        ("timeout = inf", "timeout: expected a number from 0.001, got inf"),
        ('stream = "yes"', "stream: expected true or false, got 'yes'"),
        ('suite = ""', "suite: expected text, got ''"),
        ('filter = "topic=law"', "filter: expected id, fixture or meta.NAME, got 'topic'"),
        ('prompts = ["../x"]', "prompts: expected names of files in prompts/ without .txt, got '../x'"),
        ("[matrix]\ntemperature = 0.7", "matrix.temperature: expected a list of values, one for each candidate;"),
        ("[matrix]\ntemperature = []", "matrix.temperature: expected a list of values"),
        ("[matrix]\nt = [0.7, 0.70]", "matrix.t: a value stands there twice"),
        ('[matrix]\nprompt = ["a"]', "matrix.prompt: is no parameter; give prompts above the first [table]"),
        ("[parameters]\na = 1\n[matrix]\na = [1]", "matrix.a: stands under [parameters] or leave_out too"),
        ("[parameters]\na = 2026-01-01", "parameters.a: expected what JSON can hold"),
        ("[parameters]\na = nan", "parameters.a: expected what JSON can hold, got nan"),
        ('leave_out = ["a"]\n[parameters]\na = 1', "leave_out: 'a' stands under parameters too"),
        (
            '[[candidate]]\nprompt = "x"',
            "[[candidate]] 1 model: expected an engine such as openai/gpt-4.1-mini, got no",
        ),
        ('[[candidate]]\nmodel = "a/b"\nurl = "x"', "[[candidate]] 1: unknown key 'url'"),
        ('[candidate]\nmodel = "a/b"', "candidate: expected tables, each under [[candidate]]"),
        (
            'models = ["openai/a"]\n[base_urls]\n"openai/b" = "http://x"',
            "base_urls: 'openai/b' is none of the models; did",
        ),
        ('models = ["openai/a"]\n[base_urls]\n"openai/a" = 1', "base_urls.openai/a: expected an address, got 1"),
        ("max_cost = true", 'max_cost: expected an amount above 0 such as 2.50 or "2.50 EUR", got True'),
        ("max_cost = 0", "max_cost: expected an amount above 0"),
        ('max_cost = "much"', "max_cost: expected an amount above 0"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_file_and_the_key(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "eval.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as raised:
        read_eval_file(path)
    assert said in str(raised.value) and "eval.toml: " in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_that_is_not_there_a_folder_and_other_bytes_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    for name, said in (("no.toml", "no such file"), (".", "expected a file"), ("bytes.toml", "not UTF-8")):
        with pytest.raises(UsageError, match=said):
            read_eval_file(tmp_path / name)


def test_a_run_cannot_be_called_latest() -> None:
    with pytest.raises(UsageError, match="always names the newest such run"):
        read_asked(Flags("s", engines=["ollama/m"], name="latest"))
