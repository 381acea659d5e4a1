"""Finding a rule set by what a person calls it, where no suite was named: for `parse` and `probe`."""

from __future__ import annotations

from pathlib import Path

from harness._carried import known_suites, list_suites
from harness._errors import RulesError
from harness._rules import RuleSet, builtin_names, builtin_rules, load_rules, ruleset_from_frozen
from harness._suite import load_suite
from harness.suites import stage_names

__all__ = ["find_rules"]


def find_rules(name: str) -> RuleSet:
    """The rule set that `name` names: a built-in one, SUITE/NAME, a NAME that one suite alone has, or a file's path.

    Raises RulesError, saying what there is.
    """
    if name in builtin_names():
        return builtin_rules(name)
    if name.endswith(".toml"):
        return _from_file(Path(name))
    suite_name, _, rule_name = name.rpartition("/")
    suites = [suite_name] if suite_name else list_suites() or known_suites()
    loaded = [load_suite(each)[0] for each in suites]
    # A variant has the rules of the suite that it extends, so under one name there is one.
    fits = list({each.name: each for each in reversed(loaded) if rule_name in each.own_rules}.values())[::-1]
    if len(fits) == 1:
        return load_rules(fits[0], rule_name)
    if fits:
        several = " and ".join(f"{suite.name}/{rule_name}" for suite in fits)
        raise RulesError(f"{name!a} fits {several}; name the suite too")
    there = list(dict.fromkeys(f"{suite.name}/{each}" for suite in loaded for each in suite.rule_names))
    raise RulesError(f"no rule set is called {name!a}; there are {', '.join([*builtin_names(), *there])}")


def _from_file(path: Path) -> RuleSet:
    folder = path.resolve().parent.parent
    if path.resolve().parent.name == "rules" and (folder / "suite.toml").is_file():
        return load_rules(load_suite(str(folder))[0], path.stem)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RulesError(f"{ascii(str(path))[1:-1]}: can't be read: {error.strerror}") from None
    # A file outside any suite doesn't say whose stages it speaks of: it only reads, or some suite's stages know it all.
    faults: dict[str, str] = {}
    for stage_name in ("", *stage_names()):
        try:
            return ruleset_from_frozen(path.stem, data, stage_name)
        except RulesError as error:
            faults[stage_name] = str(error).removeprefix(f"rule set {path.stem}: ")
    said = "; ".join(f"as rules of {name or 'reading alone'}: {fault}" for name, fault in faults.items())
    raise RulesError(f"{ascii(str(path))[1:-1]}: expected a rule set of some suite, got none: {said}")
