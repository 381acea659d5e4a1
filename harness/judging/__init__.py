"""Judging by a model: what is untrusted stays data, and what code can settle is settled by code.

Pure, and shared by the kinds of judge suites: a text as it travels to a judge, detectors over it, a rubric and its
exact arithmetic.
"""

from harness.judging._detectors import DELIMITER, Detector, Found, detect, read_detectors
from harness.judging._folds import FOLDS, fold, seen
from harness.judging._policy import AllAtLeast, Policy, Threshold
from harness.judging._read_rubric import COMMENTS, KEYS, RESERVED, read_rubric
from harness.judging._rubric import LATEST, Criterion, Flag, ReplyRules, Rubric
from harness.judging._shown import check_rules, naming_rubric, without_name
from harness.judging._untrusted import delimited, escape, looks_delimited, nonce_of, unescape
from harness.judging._verdict import Claim, Judgement, TotalClass, Verdict, class_of_total, exact, judge

__all__ = [
    "COMMENTS",
    "DELIMITER",
    "FOLDS",
    "KEYS",
    "LATEST",
    "RESERVED",
    "AllAtLeast",
    "Claim",
    "Criterion",
    "Detector",
    "Flag",
    "Found",
    "Judgement",
    "Policy",
    "ReplyRules",
    "Rubric",
    "Threshold",
    "TotalClass",
    "Verdict",
    "check_rules",
    "class_of_total",
    "delimited",
    "detect",
    "escape",
    "exact",
    "fold",
    "judge",
    "looks_delimited",
    "naming_rubric",
    "nonce_of",
    "read_detectors",
    "read_rubric",
    "seen",
    "unescape",
    "without_name",
]
