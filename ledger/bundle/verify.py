"""Check an evidence bundle of an evaluation ledger without the ledger, and without its code.

    python verify.py evidence.zip --key VKEY [--seed S --checkpoint FILE]   VKEY: NAME+ID+BASE64, or a file with it

Take this file and the key from elsewhere than the bundle: a forger forges the copy inside too. Python 3.9, blake3 and
cryptography; RFC 6962 section 2.1, RFC 8032, c2sp.org/tlog-checkpoint, eval-ledger's docs/FORMAT.md and BUNDLES.md.
Exit: 0 all is proved; 1 something is false, or no key was given; 2 not readable; 3 proved in part: something is hidden.
"""

# fmt: off
# ruff: noqa: E501, E701, E702, E704, RUF021  what is short stands on one line: the whole is to be read by people
# pyright: basic, reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportCallIssue=false, reportArgumentType=false
import argparse, base64, contextlib, datetime, hashlib, io, itertools, json, re, struct, sys, zipfile, zlib  # noqa: E401, I001
from collections import Counter, defaultdict, namedtuple
from pathlib import Path
from urllib.parse import unquote, urlsplit
try:
    from blake3 import blake3
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    print("two packages are needed: python -m pip install blake3 cryptography", file=sys.stderr); sys.exit(2)
__all__ = ["Links", "check_checkpoint", "check_form", "check_note", "inclusion_root", "main", "read_key"]
MAX_INT, MAX_ROW, MAX_NOTE, MAX_ALL = 2**53 - 1, 16 << 20, 256 << 10, 16 << 30
NEEDED = {"README.md": 4<<20, "verify.py": 1<<20, "bundle.json": 64<<20, "checkpoint": MAX_NOTE, "events.jsonl": 16<<30}
ORDER = [*list(NEEDED)[:4], "timestamps", "lines.txt", "events.jsonl", "cases.jsonl", "blobs"]
KEPT = {"genesis", "freeze", "plan", "cell", "score", "tally", "close", "supersede", "taint", "clear", "report"}
NEVER_REDACTED = KEPT - {"cell", "report"} | {"schema", "redact", "anchor"}
VIA = {"live": "asked live", "replay": "a REPLAY of recorded answers", "import": "IMPORTED answers"}
FIGURE = ["run", "rules", "candidate", "metric", "kind", "k", "n", "planned", "tally"]
LINE = re.compile(
    r'\{"v":1,"seq":([1-9][0-9]{0,15}),"prev":"([0-9a-f]{64})",'
    r'"at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6})Z","kind":"([a-z][a-z_]{0,31})",'
    r'"run":"((?:[a-z0-9]{16,32})?)","cell":(0|[1-9][0-9]{0,15}),'
    r'"causes":\[((?:[1-9][0-9]{0,15}(?:,[1-9][0-9]{0,15})*)?)\],"body":"([0-9a-f]{64})"\}')
Event = namedtuple("Event", "seq prev kind run cell causes body hash leaf")
SEQ, COUNT, HEX = range(1, MAX_INT + 1), range(MAX_INT + 1), {n: re.compile(f"[0-9a-f]{{{n}}}") for n in (32, 64)}
CLAIM = {"run": str, "rules": str, "candidate": str, "metric": str, "kind": ("rate", "mean"), "k": (None, COUNT), "total": (None, int, float),
         "n": COUNT, "planned": COUNT, "unmeasured": COUNT, "primary": bool, "tally": SEQ}
LISTED = {"run": str, "plan": SEQ, "cells": COUNT, "purpose": (None, str), "status": (None, str),
          "reports": [SEQ], "superseded_by": [SEQ], "tainted_by": [SEQ]}
TOLD = {"ask": str, "suite": str, "candidates": [{"label": str, "protocol": str, "model": str, "stream?": (None, bool)}]}
ABOUT = {"bundle": 1, "made_by": str, "asked": {"runs": [str], "events": [SEQ], "report": (None, HEX[64])}, "hide": [str], "complete": bool, "claims": [CLAIM],
         "reveal": (None, {"n": COUNT, "seed": str, "drawn": [{"run": str, "cell": SEQ}]}), "told": (None, {str: TOLD}),
         "fixtures": [{"name": str, "freezes": [SEQ], "runs": [LISTED]}]}
ROW = {"line": str, "proof": [str], "body": (None, str), "salt": (None, HEX[32]), "why": str,
       "blobs": {str: {"salt": (None, HEX[32]), "file": (None, str), "why?": str}}}
def expect(true, said):
    if not true: raise ValueError(said)
def clean(value):  # what somebody else wrote, as printable ASCII and short: there are characters that a terminal obeys
    return "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in str(value)[:200])
def plainly(problem):
    return "not as BUNDLES.md says: " * (not isinstance(problem, (ValueError, OSError, zipfile.error))) + clean(problem)
def many(count, what): return f"{count} {what}{'s' * (count != 1)}"
def plain(value): return f"{value:.12g}" if isinstance(value, float) else value  # no digits of a binary fraction
def named(*names): return ", ".join(clean(ascii(each)) for each in names)  # quoted, so that none can pass for a figure
def unbase64(text):
    data = base64.b64decode(text.encode("ascii"), validate=True)
    expect(base64.b64encode(data).decode() == text, "base64 that isn't the one spelling of its bytes")
    return data
def unique(pairs):
    expect(len(dict(pairs)) == len(pairs), "a key stands twice in one object")
    return dict(pairs)
def read_json(text, *keys, **how):  # an object with at least these keys
    found = json.loads(text, object_pairs_hook=unique, parse_constant=lambda name: expect(False, name), **how)
    json.dumps(found, ensure_ascii=False).encode()  # no half of a surrogate pair has an UTF-8 form
    expect(isinstance(found, dict) and set(keys) <= set(found), f"expected a JSON object with {', '.join(keys)}")
    return found
def shaped(value, shape):  # whether a JSON value has a shape: exact keys (`x?` may be missing), types, ranges, patterns; of a tuple, any
    if isinstance(shape, tuple): return any(shaped(value, each) for each in shape)
    if isinstance(shape, list): return isinstance(value, list) and all(shaped(each, shape[0]) for each in value)
    if isinstance(shape, range): return type(value) is int and value in shape
    if isinstance(shape, re.Pattern): return isinstance(value, str) and bool(shape.fullmatch(value))
    if not isinstance(shape, dict): return type(value) is shape if isinstance(shape, type) else type(value) is type(shape) and value == shape
    fields = {key.rstrip("?"): each for key, each in shape.items() if key is not str}
    exact = str in shape or {key for key in shape if key[-1] != "?"} <= {*value} <= {*fields} if isinstance(value, dict) else False
    return exact and all(shaped(each, fields.get(key) or shape.get(str)) for key, each in value.items())
def tagged(value):  # as an experiment sees it: strings s:..., numbers (read as a tuple of their token) n:...
    if isinstance(value, dict):
        return {key: tagged(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    if isinstance(value, (str, tuple)): return f"s:{value}" if isinstance(value, str) else f"n:{value[0]}"
    return [tagged(each) for each in value] if isinstance(value, list) else value
def digest(value, key):  # the keyed digest of a value (DESIGN, Identity). Without numbers, this is the RFC 8785 form
    text = json.dumps(tagged(value), ensure_ascii=False, separators=(",", ":")).encode()
    return blake3(text, key=bytes.fromhex(key)).hexdigest()
def read_key(text):  # (name, id, public key) of a verifier key. Raises ValueError
    found = re.fullmatch(r"([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)", text.strip())
    data = unbase64(found[3]) if found else b""
    expect(len(data) == 33 and data[0] == 1, f"expected an Ed25519 key, NAME+ID+BASE64, got {clean(text)[:40]}")
    expect(hashlib.sha256(found[1].encode() + b"\n" + data).hexdigest()[:8] == found[2], "a key with another key's id")
    return found[1], found[2], data[1:]
def check_note(data, vkeys):  # the text of a signed note, and NAME+ID of who signed; a wrong signature: ValueError
    (text, blank, rest), signers = data.decode("utf-8").rpartition("\n\n"), set()
    fits = blank and rest.endswith("\n") and rest.count("\n") <= 64 and len(data) <= MAX_NOTE
    expect(fits and not re.search(r"[\0-\t\x0b-\x1f]", text + rest), "no signed note, or a control character in it")
    for line in rest[:-1].split("\n"):
        found = re.fullmatch("\u2014 ([^+\\s]+) ([A-Za-z0-9+/]+=*)", line)
        signature = unbase64(found[2]) if found else b""
        expect(len(signature) >= 5, "a line of the note that is no signature")
        for name, key_id, public in [key for key in map(read_key, vkeys) if key[:2] == (found[1], signature[:4].hex())]:
            try: Ed25519PublicKey.from_public_bytes(public).verify(signature[4:], (text + "\n").encode())
            except InvalidSignature:
                raise ValueError(f"the signature by {clean(name)}+{key_id} isn't that key's for it") from None
            signers.add(f"{name}+{key_id}")
    return text + "\n", sorted(signers)
def check_checkpoint(data, vkeys):  # (origin, size, root, signers); of the keys given, one must be the ledger's
    text, signers = check_note(data, vkeys)
    found = re.fullmatch(r"([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n", text)
    expect(found and int(found[2]) <= MAX_INT, "expected a checkpoint of three lines: origin, size, root")
    signers = [each for each in signers if each.startswith(f"{found[1]}+")]
    expect(signers or not vkeys, f"no key given is {clean(found[1])}'s that signed this: wrong key, or a forgery")
    return found[1], int(found[2]), unbase64(found[3]), signers
def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def inclusion_root(leaf, index, size, proof):  # RFC 6962 section 2.1.1, read backwards
    expect(0 <= index < size and bool(proof) is (size > 1), f"no proof of leaf {index} of {size}")
    if size == 1: return leaf
    split = 1 << (size - 1).bit_length() - 1
    expect(len(proof[-1]) == 32, "a hash in a proof that isn't one")
    if index < split: return sha(b"\1", inclusion_root(leaf, index, split, proof[:-1]), proof[-1])
    return sha(b"\1", proof[-1], inclusion_root(leaf, index - split, size - split, proof[:-1]))
def read_line(line):  # an event line (FORMAT, The event line). Raises ValueError
    found = LINE.fullmatch(line)
    expect(found and len(line) <= 65_535, f"expected an event line, got {line[:60]!a}")
    seq, prev, at, kind, run, cell, causes, body = found.groups()
    causes = tuple(map(int, causes.split(","))) if causes else ()
    datetime.datetime.strptime(at, "%Y-%m-%dT%H:%M:%S.%f")
    fits = sorted({*causes, int(seq)}) == [*causes, int(seq)] and max(int(seq), int(cell)) <= MAX_INT
    expect(fits and len(causes) <= 4096, f"event {seq}: causes out of order, or a number that is too large")
    own, leaf = blake3(line.encode()).hexdigest(), sha(b"\0", line.encode())
    return Event(int(seq), prev, kind, run, int(cell), causes, body, own, leaf)
def commits(salt, file, commitment):  # how many bytes, if BLAKE3(salt, bytes) is the commitment
    hasher, size = blake3(bytes.fromhex(salt if re.fullmatch("[0-9a-f]{32}", salt) else "")), 0
    for piece in iter(lambda: file.read(1 << 16), b""):
        hasher.update(piece); size += len(piece)
    expect(hasher.hexdigest() == commitment, "not what its salt and commitment are of")
    return size
def check_form(archive, size):  # members abut, each is just its packed bytes, nothing lies elsewhere. Raises ValueError
    file, end = archive.fp, 0
    for info in archive.infolist():
        name, sizes = info.filename.encode(), (info.compress_size, info.file_size)
        file.seek(end); head = struct.unpack("<4sHHHIIIIHH", file.read(30).ljust(30, b"-"))
        fits = (*head[:1], *head[2:4], head[5]) == (b"PK\3\4", info.flag_bits, info.compress_type, info.CRC)
        fits = fits and not info.flag_bits & ~0x800 and file.read(head[8]) == name and info.header_offset == end
        more, large = file.read(head[9]), struct.pack("<HHQQ", 1, 16, *sizes[::-1])
        fits = fits and ((*head[6:8], more) in ((*sizes, b""), (*sizes, large), (2**32 - 1, 2**32 - 1, large)))
        expect(fits and not info.comment, f"the member {clean(info.filename)} isn't where and as the directory says")
        engine, left, count, crc = zlib.decompressobj(-15), info.compress_size, 0, 0
        while left:
            raw = file.read(min(left, 1 << 16)); left -= len(raw); expect(raw, "a member that is cut off")
            while raw:
                data, raw = (engine.decompress(raw, 1 << 20), engine.unconsumed_tail) if head[3] else (raw, b"")
                count, crc = count + len(data), zlib.crc32(data, crc)
                expect(count <= info.file_size, "a member that is longer than it says")
        fits = (count, crc) == (info.file_size, info.CRC) and (not head[3] or (engine.eof and not engine.unused_data))
        fits = fits and info.extra[:4] in (b"", struct.pack("<HH", 1, max(0, len(info.extra) - 4)))  # zip64, or nothing
        expect(fits, f"the member {clean(info.filename)} is damaged, or more lies in it than its bytes")
        end += 30 + len(name) + len(more) + info.compress_size
    directory = sum(46 + len(info.filename.encode()) + len(info.extra) for info in archive.infolist())
    file.seek(size - 42); tail = file.read()
    fits = archive.start_dir == end and size == end + directory + 76 * (tail[:4] == b"PK\6\7") + 22
    expect(fits and tail[20:24] == b"PK\5\6", "something stands before the members, between them or after them")
CAUSED = {  # of what kinds an event's causes are; they are of its own run, and of its own cell or of none
    "plan": "freeze lookup", "cell": "plan", "request": "cell", "response": "request", "wait": "request response fault", "parse":
    "freeze response reuse import", "fault": "cell request response import freeze reuse", "reuse": "cell", "import": "plan cell import",
    "confirm": "parse", "score": "freeze cell parse confirm fault response reuse import request", "tally": "freeze plan", "close": "plan tally",
    "accept": "plan resume", "resume": "plan close lookup"}
ACROSS = "score score, tally tally, reuse response, cell response, cell import, cell reuse"  # where a cause may be of another run
AGAIN = re.compile(r"rate_limit|overloaded|error_in_200|no_choices|not_done|empty_body|invalid_utf8|decode_(cut|failed)|short_body|stream_cut"
                   r"|dns|connect\w+|tls(_cut)?|timeout|protocol|command_failed|http_(408|409|425|429|499|5(?!01|05|11)\d\d)")  # asked again for these
PATHS = {"openai": "/chat/completions", "ollama": "/api/chat", "anthropic": "/v1/messages"}
FAILED, OLLAMA_TOP = ("error", "insufficient_system_resource", "network_error"), {"think", "format", "keep_alive", "tools", "logprobs", "top_logprobs", "truncate", "shift"}
TOKENS = {"parse_int": lambda token: (token,), "parse_float": lambda token: (token,)}  # numbers as they are written
STAGES, Case = ("authority", "pairwise", "rubric", "written", "manifest"), namedtuple("Case", "id line input gold own")
def meets(text, fixture, case):  # whether a case meets KEY=VALUE or KEY!=VALUE, of texts; other conditions aren't known here: None
    found = re.fullmatch(r'\s*(id|fixture|meta\.[^=!~<>.\s]+)\s*(!?)=\s*([^="\s][^"]*?)\s*', text)
    own = {"id": case["id"], "fixture": fixture, **{f"meta.{k}": v for k, v in case.get("meta", {}).items()}}
    return (own.get(found[1]) == found[3]) is not bool(found[2]) if found and isinstance(own.get(found[1], ""), str) else None
def place(url, path=""):  # where a URL leads, however it is spelt; with a path put to its end
    parts = urlsplit(url)
    port, host = parts.port or {"http": 80, "https": 443}.get(parts.scheme), (parts.hostname or "").encode("idna")
    return parts.scheme, host, port, unquote(parts.path.rstrip("/") + path), unquote(parts.query)
def fields_of(each):  # of a candidate's request, beside its messages, as its protocol has them
    own, top, options = each["parameters"], {"model": each["model"], "stream": each["stream"]}, {}
    if each["protocol"] != "ollama": return {**({"max_tokens": 1024} if each["protocol"] == "anthropic" else {}), **own, **top}
    for name in sorted(set(own) - OLLAMA_TOP):
        inner = name == "options" and isinstance(own[name], dict)
        options.update(own[name] if inner else {"num_predict" if name == "max_tokens" else name: own[name]})
    return {**top, **{name: own[name] for name in OLLAMA_TOP & set(own)}, **({"options": options} if options else {})}
def texts_of(content):  # the texts of a message's content, which is a text or a list of parts
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
def squeezed(text): return "".join(text.split())
def filled(template, fields):  # what a template makes of fields, white space apart: texts in their order, with anything between them
    found = [""]
    for part in re.split(r"(\{%.*%\}|\{#.*?#\}|\{\{.*?\}\})", template, flags=re.DOTALL):
        name = re.fullmatch(r"\{\{\s*(\w+)\s*\}\}", part)
        value = fields.get(name[1]) if name else None if part[:2] in ("{%", "{#", "{{") else part
        value = value[0] if isinstance(value, tuple) and value[0].isdigit() else value
        found = [*found[:-1], found[-1] + squeezed(value)] if isinstance(value, str) else [*found, ""]
    return found
class Links:  # what events say of one another, as far as it is shown (BUNDLES, Links). `weak` rests on what a redaction withholds
    def __init__(self, events, bodies, read, withheld):  # `events` by seq, in order; `read(seq, name)` gives a blob, or None
        self.events, self.bodies, self.read, self.key, self.of = events, bodies, read, bodies.get(1, {}).get("identity_key"), defaultdict(list)
        self.problems, self.told, self.weak, self.rests, self.frozen, self.asked, self.scored = [], set(), set(), {}, {}, {}, {}
        for seq, e in events.items():
            self.of[e.kind, e.run].append(e); self.of[e.run, e.cell].append(e); below = {c for c in e.causes if c in events}
            own = [self.rests[c] for c in below if (events[c].run, events[c].cell) == (e.run, e.cell) and e.cell]
            self.rests[seq] = {c for c in below if events[c].kind == "freeze"}.union(*own) if e.cell else set()
            gone = e.kind not in ("tally", "close", "fault") and (e.kind in CAUSED and self.weak & below or seq in withheld)
            self.weak |= {seq} if gone and bodies.get(seq, {}).get("reason") != "withheld" else set()
    def hold(self, runs):  # of every event that is shown; and of these runs, which are there whole, what their events come to
        for e, body in [(self.events[seq], body) for seq, body in self.bodies.items()]:
            for name in ("causes",) * (e.kind in CAUSED and e.run != "") + (e.kind,) * hasattr(self, f"hold_{e.kind}"): self.check(name, e, body)
        for e in [plan for run in runs for plan in self.of["plan", run][:1]]:
            for name in ("cells", "attempts", "counts"): self.check(name, e, self.bodies.get(e.seq))
    def check(self, name, e, body):
        try: getattr(self, f"hold_{name}")(e, body)
        except Exception as problem:  # noqa: BLE001  whatever a forger thought of is false, and no traceback
            self.problems.append(f"event {e.seq}, a {e.kind}{f' of run {e.run}' * bool(e.run)}{f', cell {e.cell}' * bool(e.cell)}: {plainly(problem)}")
    def cause(self, e, *kinds): return next((c for c in map(self.events.get, e.causes if e else ()) if c and c.kind in kinds), None)
    def body_of(self, e): return self.bodies.get(e.seq) if e else None
    def first(self, kind, run, cell=0): return self.body_of(next((e for e in self.of[run, cell] if e.kind == kind), None))
    def candidate(self, run, cell):
        return next((c for c in (self.first("plan", run) or {"candidates": ()})["candidates"] if cell and c["label"] == cell["candidate"]), None)
    def label(self, freeze):
        body = self.bodies.get(freeze, {})
        return f"{body['name']}@{body['identity']:.12}" if body.get("what") == "rules" else None
    def hold_causes(self, e, body):  # of the kinds that lead to it, of its own run and cell, and under the rules that it names
        for c in [self.events[seq] for seq in e.causes if seq in self.events]:
            own = c.kind in CAUSED[e.kind].split() and (c.run == e.run and c.cell in (e.cell, 0) or c.kind == "freeze")
            judge, graded = (e.run, c.run) if e.kind == "cell" else (c.run, e.run)
            graded = e.kind == "reuse" or graded in (self.first("plan", judge) or {}).get("grades", [graded])
            expect(own or f"{e.kind} {c.kind}" in ACROSS and graded, f"event {c.seq}, a {c.kind} of run {c.run}, cell {c.cell}, is no cause of it")
        for label in [self.label(seq) for seq in self.rests[e.seq] if "rules" in body]:
            expect(label in (None, body["rules"]), f"it is under {named(body.get('rules'))}, and rests on a freeze of {named(label)}")
    def hold_freeze(self, e, body):  # its file is the one of its digest; of rules the sources too, of a fixture its cases
        file, sources, ours = self.read(e.seq, "file"), json.loads(self.read(e.seq, "sources") or b"null"), self.read(e.seq, "jsonl")
        texts = "".join(f"source {name} {body['sources'][name]}\n" for name in sorted(body["sources"]))
        whole = blake3(f"eval-ledger rules 1\nfile {body['digest']}\n{texts}".encode()).hexdigest() if body["what"] == "rules" else body["digest"]
        fits = whole == body["identity"] and (file is None or blake3(file).hexdigest() == body["digest"])
        fits = fits and (not sources or {k: blake3(text.encode()).hexdigest() for k, text in sources.items()} == body["sources"])
        expect(fits, "its digest or identity isn't that of what it froze")
        if body["what"] != "fixture": return
        found, listed = self.cases_in(file if ours is None else ours), (self.read(e.seq, "cases") or b"").decode().splitlines()
        said, theirs = [Case(*(row[k] for k in Case._fields[:4]), None) for row in map(read_json, listed)], None
        with contextlib.suppress(ValueError, TypeError): theirs = self.cases_in(ours and file)  # unless it has a form of somebody else's
        expect(not theirs or theirs == found, "its `jsonl` has other cases than its file")
        for mine, its in itertools.zip_longest(found, said) if found and said else ():
            fits = mine and its and mine[:2] == its[:2] and (not self.key or mine[2:4] == its[2:4])
            expect(fits, f"case {named(mine and mine.id)} of its file isn't {named(its and its.id)} of its blob `cases`, or has another digest")
        self.frozen[e.seq] = {case.id: case for case in (found if found and self.key else said)}
        expect(len(self.frozen[e.seq]) == len(found or said), "a case stands in it twice")
    def cases_in(self, data):  # the cases of a cases.jsonl
        rows = [(at, row) for at, row in enumerate((data or b"").split(b"\n"), 1) if row.strip()]
        found = [(at, read_json(row.decode(), "id", "input", "gold", **TOKENS)) for at, row in rows]
        expect(all(set(case) <= {"id", "input", "gold", "meta"} for _, case in found), "not a case")
        return [Case(own["id"], at, *(self.key and digest(own[k], self.key) for k in ("input", "gold")), own) for at, own in found]
    def hold_plan(self, e, body):  # what it stands on, by name and number; labels once; candidates by their digests
        labels, seen = [each["label"] for each in body["candidates"]], {kind for kind in ("request", "import") if self.of[kind, e.run]}
        fits = len({*labels}) == len(labels) and (body["purpose"] != "probe" or (body["cells"], len(labels)) == (1, 1))
        fits = fits and (not seen or seen == {"import" if body["via"] == "import" else "request"})
        expect(fits, f"two candidates have one label, a probe has many cells, or it isn't {named(body['via'])}: {named(*labels)}")
        for each in (*body["rules"], *body["fixtures"]):
            frozen, count, what = self.bodies.get(each["freeze"]), len(self.frozen.get(each["freeze"]) or ()), "rules" if "label" in each else "fixture"
            fits = (not frozen or [frozen["what"], frozen["name"].rpartition("/")[2]] == [what, each["name"]]) and each["freeze"] in e.causes
            fits = fits and self.label(each["freeze"]) in (None, each.get("label")) and (
                count in (0, each["cases"]) if what == "fixture" else each["label"] == f"{each['name']}@{each['identity']:.12}")
            expect(fits, f"{named(each['name'])} isn't what event {each['freeze']} froze")
        for each in body["candidates"]:
            frozen = self.bodies.get(each["prompt_freeze"], {"what": "prompt", "digest": each["prompt"]})
            fits = [frozen["what"], frozen["digest"]] == ["prompt", each["prompt"]] and each["prompt_freeze"] in (None, *e.causes)
            expect(fits and self.digest_fits(body, each), f"{named(each['label'])} isn't what its digest, or its prompt's, is of")
    def stages(self, plan):  # the frozen sources of what asks and scores, by the name of the stage
        every = [json.loads(self.read(each["freeze"], "sources") or b"{}") for each in plan["rules"]]
        return {name: some[f"harness.suites.{name}"] for name in STAGES for some in every if f"harness.suites.{name}" in some}
    def digest_fits(self, plan, each):
        prompt, own = self.read(each["prompt_freeze"], "file") if each["prompt_freeze"] else b"", each["parameters"]
        turns = [turn for text in self.stages(plan).values() for turn in re.findall(r'turns="([^"\\]*)",', text)]
        text, whole_ones = json.dumps({**own, "stream": each["stream"]}), []  # what reads 1 in a body may have been 1.0
        json.loads(text, parse_int=whole_ones.append); known = turns and prompt is not None and self.key and len(whole_ones) < 9
        if not known: self.told.add("that candidates are what their digests are of, where prompt or rules aren't shown")
        for ways, turn in itertools.product(itertools.product(("", ".0"), repeat=len(whole_ones)), turns) if known else ():
            rest = iter(ways); spelt = json.loads(text, **{**TOKENS, "parse_int": lambda token, rest=rest: (token + next(rest),)})
            whole = {"candidate": ("1",), "protocol": each["protocol"], "model": each["model"], "parameters": spelt, "prompt": prompt.decode(), "turns": turn}
            if each["digest"] == digest(whole, self.key): return True
        return not known
    def hold_cell(self, e, body):  # its identity follows from its other fields, and its candidate is planned
        plan, each = self.first("plan", e.run), self.candidate(e.run, body)
        expect(each or not plan, f"{named(body['candidate'])} isn't planned")
        whole = {"identity": ("1",), "epoch": (str(body["epoch"]),), "twin": (str(body["twin"]),), "input": body["input"], "arm": body["arm"]}
        fits = not plan or not self.key or digest({**whole, "suite": plan["suite"], "candidate": each["digest"]}, self.key) == body["identity"]
        expect(fits, "its identity doesn't follow from its other fields")
    def hold_cells(self, e, plan):  # exactly the product of candidates, epochs and cases, each once and in its order
        cells, ended = self.of["cell", e.run], plan and (self.of["tally", e.run] or self.of["close", e.run])
        fits = [c.cell for c in cells] == list(range(1, len(cells) + 1)) and (not ended or len(cells) == plan["cells"])
        expect(fits, f"{len(cells)} cells stand, {plan and plan['cells']} are planned, and one is missing or there twice")
        if not plan or plan["purpose"] == "probe": return
        sets, labels = {each["name"]: self.frozen.get(each["freeze"]) or {} for each in plan["fixtures"]}, [each["label"] for each in plan["candidates"]]
        kept = [(name, case) for name, some in sets.items() for case in some.values()] if all(sets.values()) else None
        if kept and plan.get("filter"):
            texts = json.loads(plan["given"])["filters"]; expect(" and ".join(map(str.strip, texts)) == plan["filter"], "its filter isn't the one given")
            met = [(each, {meets(text, each[0], each[1].own) if each[1].own else None for text in texts}) for each in kept]
            kept = None if any(None in some for _, some in met) else [each for each, some in met if some == {True}]
        expect(not kept or plan["limit"] is None or plan["limit"] < len(kept), "its limit leaves out nothing")
        kept, each, epochs = kept and kept[: plan["limit"]], len(labels) * plan["epochs"], plan["epochs"]
        size, twins, arms = len(kept) if kept else plan["cells"] // each, Counter(), defaultdict(set)
        expect(each * size == plan["cells"], f"{plan['cells']} cells are planned, and its candidates, epochs, limit and filter give {each * size}")
        if not kept: self.told.add("which cases limit and filter keep, where these aren't shown or the condition isn't known")
        for c in [c for c in cells if c.seq in self.bodies]:
            body, (at, index) = self.bodies[c.seq], divmod(c.cell - 1, size)
            name, case = kept[index] if kept else (body["fixture"], sets.get(body["fixture"], {}).get(body["case"]))
            want = {"candidate": labels[at // epochs], "epoch": at % epochs, "fixture": name, **(case._asdict() if case else {})}
            want.update({"case": want.get("id"), "twin": twins[at, case.input]} if case and kept and self.key else {})
            twins[at, body["input"]] += 1; arms[name].add(body["arm"])
            for key in [key for key in want if want[key] is not None and key in body and want[key] != body[key]]:
                raise ValueError(f"cell {c.cell}, event {c.seq}, has {key} {named(body[key])}, and the plan gives {named(want[key])}")
            own = (case.own.get("meta", {}) if case and case.own and plan.get("grades") else {}).get("evidence", ())
            fits = not own or {int(n[0]) for n in (own if isinstance(own, list) else [own])} == {*c.causes} - {e.seq}
            expect(fits, f"cell {c.cell}, event {c.seq}, rests on other answers than its case")
        by, planned = plan.get("suite_arms") or {}, plan["arms"]
        by = by if [*dict.fromkeys(filter(None, (by.get(name, "") for name in sets)))] == planned else None
        fits = all(len(some) == 1 and some <= {*(planned or [""])} and (by is None or some == {by.get(name, "")}) for name, some in arms.items())
        expect(fits, f"the arms of its cells are {named(*arms.items())}, and it plans {named(*planned)}")
    def hold_request(self, e, body):  # the plan's candidate, where it is reached, is asked the frozen case
        cell, data, masked = self.body_of(self.cause(e, "cell")), self.read(e.seq, "body"), str(body.get("masked"))
        each, plan = self.candidate(e.run, cell), self.first("plan", e.run)
        had = json.loads(data, **TOKENS) if data and self.key and "tools" in body and each and each["protocol"] in PATHS else {}
        expect(not had or body["tools"] == ((tools := had.get("tools") or had.get("functions")) and digest(tools, self.key) or None), "its tools aren't its body's")
        if not each: self.told.add("what requests ask whose cell or plan isn't shown"); return
        accepts = [self.body_of(a) or {"after": "", "component": "?"} for a in self.of["accept", e.run] if a.seq < e.seq]
        bases, path = [each["base_url"], *(a["after"] for a in accepts if a["component"] != "code")], PATHS.get(each["protocol"])
        at = -1 if "'url" in masked else None
        fits = not (path and all(bases)) or place(body["url"])[:at] in [place(base, path)[:at] for base in bases]
        fits = fits and (body["method"] == "POST" if path else (body["method"], body["url"]) == ("EXEC", "command:"))
        expect(fits, f"it goes to {named(body['url'])}, and the plan's {named(each['label'])} is at {named(*bases)}")
        if not path or data is None or "'body" in masked: self.told.add("what requests ask that aren't shown, go to a program, or are masked"); return
        sent, sets = json.loads(data), {one["name"]: self.frozen.get(one["freeze"]) or {} for one in plan["fixtures"]}
        case, want, rest = sets.get(cell["fixture"], {}).get(cell["case"]), fields_of(each), {"stream": False, **sent}
        given = case.own["input"] if case and case.own else None
        own = given if isinstance(given, dict) else {}
        free = {"messages", *({"tools", "response_format"} & set(own)), *(["system"] if each["protocol"] == "anthropic" else [])}
        for name in [name for name in {*want, *rest} - free if rest.get(name) != want.get(name)]:
            raise ValueError(f"it has {named(name)} {named(rest.get(name))}, and the plan's {named(each['label'])} {named(want.get(name))}")
        first = self.asked.setdefault((e.run, each["digest"], cell["input"]), (e.seq, sent))
        expect(first[1] == sent, f"event {first[0]} asks the same candidate the same input in other words")
        template, stage = self.read(each["prompt_freeze"], "file"), next(iter(self.stages(plan)), None)
        if None in (given, template, stage): self.told.add("what requests ask, where case, prompt or rules aren't shown"); return
        said = squeezed("".join([*texts_of(sent.get("system")), *(t for m in sent["messages"] for t in texts_of(m["content"]))]))
        text = re.sub(r"(?m)^===[ \t]*(?:system|user|assistant|(messages))[ \t]*===[ \t]*$", lambda m: "{{-}}" * bool(m[1]), template.decode())
        parts, at = filled(text, {"input": given, **own} if stage in ("manifest", "written") else {}), 0
        shown = [text for m in own.get("messages", ()) if stage == "manifest" for text in texts_of(m["content"])]
        data = [own.get(name, "") for name in ("text", "first", "second", "reference") if stage in ("pairwise", "rubric")]
        shown += [text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for text in data if "".join(text.split("\n")).isprintable()]
        if stage == "authority": shown += re.findall(r"(?m)^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(\S.*)$", own["text"])
        fits = said == parts[0] if len(parts) == 1 else said.startswith(parts[0]) and said.endswith(parts[-1])
        for part in parts: at = said.find(part, at) + len(part) if at >= 0 and part in said[at:] else -1
        expect(fits and at >= 0 and all(squeezed(one) in said for one in shown), f"it asks {named(said[:80])}, which prompt and case don't make")
    def said(self, e):  # the text of a whole reply of status 200; None where there is none, or it can't be told
        e = self.cause(e, "response") if e and e.kind == "reuse" else e
        body = self.body_of(e) if e and e.kind == "response" else None
        if not body or body["status"] != 200 or not body["whole"]: return None
        try:
            reply = json.loads(self.read(e.seq, "body") or b""); choice = (reply.get("choices") or [{}])[0]; message = choice.get("message") or reply.get("message") or reply
            failed = reply.get("done") is False or choice.get("finish_reason") in FAILED or "error" in {**reply, **choice, **message}
            return "" if failed else "".join(texts_of(message.get("content")))
        except (ValueError, AttributeError, TypeError, LookupError, RecursionError): return None
    def hold_attempts(self, plan, body):  # in order, one end each; again for a reason only; none of a closed run
        labels, recorded = {each["label"] for each in body["rules"]} if body else set(), (body or {}).get("suite_arms") is not None
        ends = [c for c in self.events.values() if c.run == plan.run and c.kind in ("close", "resume")]
        for c in self.of["cell", plan.run]:
            count, request, answer, fault, scored = 0, None, None, None, {}
            for e in [e for e in self.of[plan.run, c.cell] if e.kind != "cell"]:
                said, last, mine, fits = self.bodies.get(e.seq, {}), next((c for c in reversed(ends) if c.seq < e.seq), None), self.cause(e, "request"), True
                if e.kind in ("request", "response", "wait", "reuse") and last and last.kind == "close":
                    fits = not recorded and (e.kind == "request" or request and request.seq > last.seq)
                if e.kind == "request":
                    fits = fits and (not request or answer or fault) and said.get("attempt", count) == count and not said.get("turn")
                    fits = fits and (scored or not self.said(answer)) and {*scored.values()} <= {"unmeasured", *(self.body_of(last) or {}).get("retry", ())}
                    count, request, answer, fault = count + 1, e, None, None
                elif e.kind in ("response", "fault") and said.get("attempt", 0) is not None and not self.cause(e, "import"):
                    asked, cut = self.bodies.get(mine.seq, {}) if mine else {}, e.kind == "fault" and answer and answer.seq in e.causes
                    fits = fits and (mine is request if mine else e.kind == "fault") and not fault and (not answer or cut)
                    fits = fits and (not asked or not said or asked["attempt"] == said["attempt"]) and not (cut and (self.body_of(answer) or {}).get("whole"))
                    answer, fault, count = (e, None, count) if e.kind == "response" else (answer, e, count + (not mine))
                elif e.kind == "reuse": fits, answer = fits and not answer and not request, e
                elif e.kind == "wait" and said:
                    why, reply = said["why"], {"status": None, "headers": (), **(self.body_of(answer) or {})}
                    fits = fits and (AGAIN.fullmatch(why) or ["x-should-retry", "true"] in [[k.lower(), v.strip().lower()] for k, v in reply["headers"]])
                    fits = fits and not self.said(answer) and said["attempt"] == count - 1 and why in (f"http_{reply['status'] or why[5:]}", why * (why[:5] != "http_"))
                    fits = fits and (answer or why == (self.body_of(fault) or {}).get("reason", why))
                elif e.kind == "parse": fits = not answer or answer.seq in e.causes and bool(fault or (self.body_of(answer) or {}).get("whole", True))
                elif e.kind == "score" and said.get("rules") in labels: scored[said["rules"]] = said["outcome"]
                at = ", ".join(f"event {each.seq}" for each in (request, answer, fault, last) if each)
                expect(fits, f"cell {e.cell}: event {e.seq}, a {e.kind}, is out of place, twice, or without a reason, after {at}")
    def hold_parse(self, e, body):
        found, plan = self.cause(e, "response", "reuse", "import"), self.first("plan", e.run)
        said = self.said(found) if body["status"] == "parsed" and plan and plan["ask"] == "text" and body["value"] else None
        expect(found and (said is None or json.loads(body["value"]) in said), f"it reads {named(body['value'])}, which event {found and found.seq} doesn't say")
    def hold_score(self, e, body):  # it follows from what was read; readings alike of one case are scored alike
        confirm, other, cell = self.cause(e, "confirm"), self.cause(e, "score"), self.body_of(self.cause(e, "cell"))
        parse, grade, measured = self.cause(e, "parse") or self.cause(confirm, "parse"), self.body_of(other), body["outcome"] != "unmeasured"
        fits = not other or any({*c.causes} & {*e.causes} for c in self.of[other.run, other.cell] if c.kind == "cell")
        expect(fits and (not grade or {**grade, "rules": ""} == {**body, "rules": ""}), f"event {other and other.seq} gave its answer another grade")
        fits = (not measured or parse or other) and (not parse or self.rests[e.seq]) and {*body["metrics"]} <= {*body["applies"]}
        fits = fits and (body["reason"] != "not_asked" or not any(c.kind in ("response", "reuse") and c.seq < e.seq for c in self.of[e.run, e.cell]))
        expect(fits, "it rests on no reading, has figures that don't apply, or denies an answer"); read = self.body_of(parse)
        if not read or not cell: return
        unread = [body[k] for k in ("outcome", "status", "reason")] == ["unmeasured", read["status"], read["reason"]]
        fits = unread if read["status"] != "parsed" else measured or body["status"] == "error"
        expect(fits, f"event {parse.seq} was read as {read['status']}, and it says {named(body['outcome'], body['status'])}")
        value, claims = self.read(parse.seq, "value") if read["value"] is None else read["value"], self.body_of(confirm) or {}
        same = sorted(self.rests[e.seq]), cell["input"], cell["gold"], value, *(read[k] for k in ("flags", "span", "reason")), claims.get("findings"), claims.get("rejections")
        first = self.scored.setdefault(repr(same), (e.seq, content := [body[name] for name in ("outcome", "metrics", "applies", "value")]))
        expect(first[1] == content, f"event {first[0]} scores the same reading of the same case otherwise")
    def hold_counts(self, e, plan):  # plan, tallies and closes count the run's own scores
        last, tallies, mine = defaultdict(dict), {}, {kind: self.of[kind, e.run] for kind in ("cell", "score", "tally", "close")}
        if not plan or any(c.seq not in self.bodies for kind in ("cell", "score", "tally") for c in mine[kind]): return
        planned, labels = {each["label"]: each["metrics"] for each in plan["rules"]}, [each["label"] for each in plan["candidates"]]
        whose = {c.cell: self.bodies[c.seq]["candidate"] for c in mine["cell"]}
        for c in sorted(itertools.chain(*mine.values()), key=lambda c: c.seq):
            body, where = self.bodies.get(c.seq, {}), f"event {c.seq}, a {c.kind}, says "
            if c.kind == "score": last[body["rules"]][c.cell] = body
            elif c.kind == "tally":
                scores, label = last[body["rules"]], body["rules"]
                tallies[label], ends = body["outcomes"], Counter(each["outcome"] for each in scores.values())
                fits = ends == Counter({k: n for k, n in body["outcomes"].items() if n}) and len(scores) == len(whose)
                fits = fits and self.label(body["freeze"]) in (None, label) and {body["freeze"], e.seq} <= {*c.causes}
                expect(fits, f"{where}{body['outcomes']} under {named(label)}, and the scores are {dict(ends)}, or the rules others")
                counts = Counter((whose[cell], name) for cell, each in scores.items() for name in each["applies"])
                rows, said = [(row["candidate"], row["metric"]) for row in body["metrics"]], {each["name"]: each["planned"] for each in planned.get(label, ())}
                names = [*said] if label in planned else [*dict.fromkeys(name for _, name in rows)]
                expect(rows == [(each, name) for each in labels for name in names], f"{where}figures of others than are planned")
                for row, which in zip(body["metrics"], rows):  # noqa: B905  Python 3.9
                    fits = (row["k"] or 0) <= row["n"] <= row["planned"] == counts[which] == said.get(which[1], counts[which])
                    expect(fits, f"{where}{row['n']} of {row['planned']}; {said.get(which[1])} are planned, {counts[which]} scored: {named(*which)}")
            elif c.kind == "close" and body and plan["purpose"] != "probe":
                every = [(cell, {last[label].get(cell, {"status": "error"})["status"] for label in planned}) for cell in range(1, plan["cells"] + 1)]
                asked = {cell for cell, some in every if some != {"not_asked"}} - {each.cell for each in self.of["reuse", e.run]}
                failed = any(some & {"error", "not_asked", "fate_unknown"} for _, some in every)
                ends = "incomplete" if failed else "partial" if plan["limit"] is not None or plan.get("filter") else "complete"
                want = [plan["cells"], len(asked), {label: tallies.get(label) for label in planned}]
                fits = [body[k] for k in ("planned", "asked", "outcomes")] == want and body["status"] in (ends, "interrupted", "aborted")
                expect(fits, f"{where}{body['status']}, {body['asked']} of {body['planned']}; its run is {ends}, {want[1]} of {want[0]}")
    def hold_reuse(self, e, body):  # of the very response, which was an answer to the same identity, and of no other cell
        other = self.events.get(body["of"])
        if not other: self.told.add("what another ledger recorded, and was taken over"); return
        known = [(self.first("cell", x.run, x.cell) or {}).get("identity") for x in (other, e)]
        fits = other.kind == "response" and other.seq in e.causes and other.hash == body["hash"] and (None in known or known[0] == known[1])
        fits = fits and sum(other.seq in c.causes for c in self.of["reuse", e.run]) == 1
        expect(fits, f"event {other.seq} isn't the response that it names, has another identity, or is taken over twice")
    def hold_import(self, e, body):
        data = [self.read(e.seq, name) for name in ("file", "output")]
        expect(all(each is None or blake3(each).hexdigest() == body["digest"] for each in data), "what came in has another digest")
    def hold_report(self, e, body):  # its file, and that its figures are those of the tallies that it names
        file, head = self.read(e.seq, "file"), self.events.get(body["size"])
        fits = (file is None or blake3(file).hexdigest() == body["digest"]) and (not head or head.hash == body["head"]) and body["size"] < e.seq
        expect(fits, "its file or its head isn't the one that it says")
        for each in [one for one in body["figures"] if isinstance(one, dict) and one.get("kind") in ("rate", "mean") and one["tally"] in self.bodies]:
            if any(each["tally"] < c.seq < e.seq for c in self.of["score", each["run"]]): continue
            tally, line = self.bodies[each["tally"]], self.events[each["tally"]]
            rows = [row for row in tally.get("metrics", ()) if all(row[k] == each.get(k) for k in ("candidate", "metric", "kind", "n", "planned"))]
            fits = (line.kind, line.run, tally["rules"]) == ("tally", each["run"], each["rules"]) and len(rows) == 1 and each["k"] in (None, rows[0]["k"])
            expect(fits, f"it says {each.get('k')}/{each.get('n')}, and event {line.seq} doesn't")
class Bundle:  # `problems` are false, `partly` is proved in part, `proved` is proved, `told` is only said
    def __init__(self, path):  # members in their order, none twice, of sizes that can be borne
        self.problems, self.partly, self.proved, self.told, self.signers, self.lined = [], [], [], [], [], []
        self.events, self.rests, self.bodies, self.hidden, self.bare, self.texts, self.shown = {}, {}, {}, {}, [], {}, {}
        self.files = {}
        self.size, self.origin, self.by_kind, self.zip = 0, "?", defaultdict(list), zipfile.ZipFile(path)
        infos, places = self.zip.infolist(), []
        for info in infos:
            (top, _, rest), name = info.filename.partition("/"), info.orig_filename
            fits = re.fullmatch(r"(timestamps|blobs)/[\w.%-]+|[^/]+", name, re.ASCII) and top in ORDER
            fits = fits and bool(rest) is (top in ("timestamps", "blobs")) and info.compress_type in (0, 8)
            fits = fits and info.file_size <= NEEDED.get(top, MAX_ALL) and not info.flag_bits & 1
            expect(fits, f"the member {clean(info.filename)} is none that a bundle has, or not as it is made")
            places.append(ORDER.index(top))
        self.names = {info.filename for info in infos}
        fits = places == sorted(places) and len(self.names) == len(infos) and set(NEEDED) <= self.names
        expect(fits, "a member is missing, stands twice, or is out of its order")
        size = Path(path).stat().st_size
        fits = sum(info.file_size for info in infos) <= min(MAX_ALL, 1100 * size)  # DEFLATE packs no better
        expect(fits, "its members are larger than they can honestly be"); check_form(self.zip, size)
        self.about = read_json(self.zip.read("bundle.json").decode())
        expect(shaped(self.about, ABOUT), "bundle.json has other keys or values than a bundle of version 1")
        self.wanted = set(self.about["asked"]["events"])
    def check(self, what, function, *given):  # what it finds false is noted: nothing that is read ends in a traceback
        try: return function(*given)
        except Exception as problem:  # noqa: BLE001  whatever a forger thought of is false, and no traceback
            self.problems.append(f"{what}: {plainly(problem)}")
    def rows(self, name):
        with self.zip.open(name) as file:
            for row in iter(lambda: file.readline(MAX_ROW), b""):
                expect(row.endswith(b"\n"), "a line that is too long, or cut off")
                yield row[:-1].decode("utf-8")
    def check_all(self, keys, seed, own):
        found = self.check("checkpoint", check_checkpoint, self.zip.read("checkpoint"), keys)
        if found:
            self.origin, self.size, self.root, self.signers = found
            if own: self.check("--checkpoint", self.check_own, own)
            self.check("events.jsonl", self.check_events)
            self.check("lines.txt", self.check_lines)
            self.check("asked", self.check_asked)
            self.check("links", self.check_links)
            for what, several in [("run", self.about["asked"]["runs"]), *self.about.items()]:
                for each in several if what in ("run", "claims", "fixtures") else ():
                    self.check(what, getattr(self, f"check_{what.rstrip('s')}"), each)
            self.check("draw", self.check_draw, self.about["reveal"], seed, own)
        other = self.zip.read("verify.py") != Path(__file__).read_bytes()
        self.told.append("README.md, made_by, told, timestamps" + "; the verify.py inside is another than this" * other)
    def check_own(self, own):
        same = check_checkpoint(own, [])[:3] == (self.origin, self.size, self.root)
        expect(same, f"yours has another ledger, size or root than the one of {self.size} that this stands on")
        self.proved.append(f"it stands on your own checkpoint, of {self.size} and the same root")
    def check_events(self):  # each line, its place in the tree, the chain to its neighbour, body and blobs
        last, blobs = None, set()
        for count, row in enumerate(self.rows("events.jsonl"), start=1):
            last = self.check(f"events.jsonl, line {count}", self.check_event, row, last, blobs) or last
        more = {name for name in self.names if name.startswith("blobs/")} - blobs
        fits = not more and (1 in self.hidden or "{origin}/{id}".format(**self.bodies[1]) == self.origin)
        expect(fits, f"{many(len(more), 'blob')} of no event, or genesis is another ledger's")
        self.proved.append(f"{many(len(self.events), 'event')} at their places, {len(self.hidden)} with hidden bodies")
    def check_event(self, row, last, blobs):
        row = read_json(row); expect(shaped(row, ROW), "other keys or values than an event has")
        event, body, why = read_line(row["line"]), row["body"], row["why"]
        seq, before, prev = event.seq, last.seq if last else 0, last.hash if last else "0" * 64
        fits = seq > before and (seq > before + 1 or event.prev == prev)
        expect(fits, f"event {seq} stands out of order, or twice, or doesn't follow on event {before}")
        found = inclusion_root(event.leaf, seq - 1, self.size, [unbase64(each) for each in row["proof"]])
        expect(found == self.root, f"event {seq}: its proof doesn't lead to the root of the checkpoint")
        self.events[seq] = event; self.by_kind[event.kind, event.run].append(event)
        causes = [self.events[cause] for cause in event.causes if cause in self.events]
        own = [self.rests[e.seq] for e in causes if (e.run, e.cell) == (event.run, event.cell) and e.kind != "cell"]
        self.rests[seq] = {each.seq for each in causes if each.kind == "freeze"}.union(*own)
        if body is None:
            self.hidden[seq] = str(why)
            fits = row["salt"] is None and row["blobs"] == {} and why and isinstance(why, str)
            fits = fits and (why != "redacted" or event.kind not in NEVER_REDACTED)
            expect(fits, f"event {seq} is said to be hidden or redacted, and isn't")
            return event
        commits(row["salt"], io.BytesIO(body.encode()), event.body)
        named = (value := read_json(body)).get("blobs", {})
        expect(set(named) == set(row["blobs"]) and why == "", f"event {seq}: other blobs than it names, or hidden")
        for name, blob in row["blobs"].items():
            if blob["file"] is None:
                expect(blob["salt"] is None and blob["why"], f"event {seq}: the salt of a hidden blob")
                self.bare.append((seq, blob["why"])); continue
            plain = re.sub(r"[^A-Za-z0-9._-]", lambda odd: "".join(f"%{byte:02X}" for byte in odd[0].encode()), name)
            expect(blob["file"] == f"blobs/{seq}-{plain}", f"event {seq}: another name of a blob")
            size = commits(blob["salt"], self.zip.open(blob["file"]), named[name]["hash"]); blobs.add(blob["file"])
            expect(size == named[name]["size"], f"event {seq}: the size of a blob")
        self.bodies.update({seq: value} if event.kind in KEPT else {}); self.shown[seq] = value
        self.files.update({(seq, name): blob["file"] for name, blob in row["blobs"].items() if blob["file"]})
        self.texts.update({seq: body} if seq in self.wanted else {})
        return event
    def check_lines(self):  # the whole order, if it is there: then nothing that counts can have been left out
        expect(self.about["complete"] is ("lines.txt" in self.names), "bundle.json says otherwise than what is there")
        prev, peaks, size, complete, asked = "0" * 64, [], 0, self.about["complete"], self.about["asked"]["runs"]
        for text in self.rows("lines.txt") if complete else ():
            event, size = read_line(text), size + 1
            expect((event.seq, event.prev) == (size, prev), f"event {event.seq} doesn't follow on event {size - 1}")
            prev, leaf, below = event.hash, event.leaf, size
            while not below & 1: leaf, below = sha(b"\1", peaks.pop(), leaf), below >> 1
            peaks.append(leaf)
            must = event.run in asked or (asked and event.kind in ("report", "publish", "supersede", "taint", "clear"))
            expect(size in self.events or not must, f"event {size} ({event.kind}) is left out of events.jsonl")
            self.lined += [event] if event.kind in ("plan", "redact") else []
        while len(peaks) > 1: peaks[-2:] = [sha(b"\1", *peaks[-2:])]
        expect(not complete or (size, peaks) == (self.size, [self.root]), "its root isn't the checkpoint's")
        (self.proved if complete else self.told).append(f"nothing of a run asked for is left out, up to {self.size}")
    def read(self, seq, name):
        return self.zip.read(self.files[seq, name]) if (seq, name) in self.files else None
    def check_links(self):
        gone = {seq for seq, why in (*self.hidden.items(), *self.bare) if why == "redacted"}
        self.links = Links(self.events, self.shown, self.read, gone); self.links.hold(self.about["asked"]["runs"])
        self.problems += self.links.problems; self.told += sorted(self.links.told)
        self.proved += [] if self.links.problems else ["what events say of one another, as far as it is shown"]
    def check_asked(self):  # it is there, with all that it rests on; a report's figures are what is claimed
        asked, listed = self.about["asked"], {run["run"] for each in self.about["fixtures"] for run in each["runs"]}
        expect(self.wanted <= set(self.events), "an event that was asked for isn't there")
        for e in map(self.events.get, sorted(self.wanted)):
            said = self.texts.get(e.seq, f"its body is {self.hidden.get(e.seq)}")
            whose = f" of run {e.run}" * bool(e.run) + f", cell {e.cell}" * bool(e.cell)
            self.proved.append(f"event {e.seq} is a {e.kind}{whose}: {clean(said)}{'...' * (len(said) > 200)}")
        for run in asked["runs"]:
            plan = self.bodies.get(self.by_kind["plan", run][0].seq, {})
            expect(plan.get("fixtures") == [] or run in listed, f"the fixture of run {clean(run)} isn't listed")
        needed = set()
        for seq in sorted(self.events, reverse=True):
            if seq in needed or self.events[seq].run in asked["runs"]: needed |= set(self.events[seq].causes)
        expect(needed <= set(self.events), f"event {min(needed - set(self.events), default=0)}, a cause, isn't there")
        reports = [body for body in self.bodies.values() if "figures" in body and body["digest"] == asked["report"]]
        figures = [[figure.get(key) for key in FIGURE] for body in reports for figure in body["figures"]]
        claimed = [[claim[key] for key in FIGURE] for claim in self.about["claims"]]
        fits = asked["report"] is None or (figures and all(each in figures for each in claimed))
        expect(fits, "the report isn't there, or has other figures")
        figures = [f for f in figures if f not in claimed and f[4] in ("rate", "mean") and f[-1] in self.bodies]
        self.problems += [f"a claim left out: {f[5]}/{f[6]}, {named(f[3], f[0], f[2], f[1])}" for f in figures]
        back = {c for e in (*self.lined, *self.by_kind["redact", ""]) if e.kind == "redact" for c in e.causes}
        gone = {seq for seq, why in (*self.hidden.items(), *self.bare) if why == "redacted"} - back
        expect(not gone, f"event {min(gone, default=0)} is said to be redacted, and no redaction names it")
    def course(self, run):  # how a run was asked, and how it ended, as its plan and newest close say
        plan, close = ([{}, *(self.bodies.get(e.seq) for e in self.by_kind[at, run])][-1] for at in ("plan", "close"))
        how = VIA.get(plan.get("via"), "?") if plan else "UNKNOWN whether asked live or a replay (its plan is hidden)"
        said = "UNKNOWN how it ended (its close is hidden)" if close is None else "not closed"
        return clean(f"{how}, {'{status}, {asked} of {planned} asked'.format(**close) if close else said}")
    def check_run(self, run):  # how it went, and that no figure of its newest tallies is left out
        said, by_report = self.course(run), self.about["asked"]["report"]
        (self.told if "UNKNOWN" in said else self.proved).append(f"run {clean(run)}: {said}")
        tallies = [(e.seq, self.bodies.get(e.seq)) for e in self.by_kind["tally", run] if not by_report]
        hidden = [seq for seq, body in tallies if body is None]
        self.partly += [f"run {clean(run)}: the figures of its tally, event {seq}, are hidden" for seq in hidden]
        claimed = {(claim["tally"], claim["candidate"], claim["metric"]) for claim in self.about["claims"]}
        for seq, body in {body["rules"]: (seq, body) for seq, body in tallies if body}.values():
            for e in body["metrics"] if seq > max(hidden, default=0) else ():
                what = f"{e['k']}/{e['n']}, {named(e['metric'], run, e['candidate'], body['rules'])}, of event {seq}"
                if (seq, e["candidate"], e["metric"]) not in claimed: self.problems.append(f"a claim left out: {what}")
    def check_claim(self, claim):  # a count against its tally, and again from the scores (BUNDLES, Claims)
        run, rules, candidate, metric, rate = *(claim[key] for key in FIGURE[:4]), claim["kind"] == "rate"
        tally, body, asked = self.events[claim["tally"]], self.bodies[claim["tally"]], self.about["asked"]
        freeze, frozen, (plan,) = body["freeze"], self.bodies.get(body["freeze"]), self.by_kind["plan", run]
        fits = (tally.kind, tally.run, body["rules"]) == ("tally", run, rules) and run in asked["runs"]
        fits = fits and (frozen is None or "{name}@{identity:.12}".format(**frozen) == rules)
        expect(fits and self.events[freeze].kind == "freeze", "its tally is of another run or rules, or not asked for")
        (row,) = [row for row in body["metrics"] if (row["candidate"], row["metric"]) == (candidate, metric)]
        expect(all(repr(claim[key]) == repr(row.get(key, 0)) for key in {**row, "unmeasured": 0}), "its tally differs")
        newest = max(e.seq for e in self.by_kind["tally", run] if self.bodies.get(e.seq, body)["rules"] == rules)
        expect(asked["report"] or newest == tally.seq, f"event {newest} is a newer tally, or may be one")
        order, cells = list(dict.fromkeys(row["candidate"] for row in body["metrics"])), self.by_kind["cell", run]
        place = {e.cell: order[(e.cell - 1) * len(order) // len(cells)] for e in cells if e.cell <= len(cells)}
        shown = {e.cell: self.bodies[e.seq]["candidate"] for e in cells if e.seq in self.bodies}
        unplanned = {"cells": len(cells), "candidates": [{"label": each} for each in order]}
        whose, said = {**place, **shown}, self.bodies.get(plan.seq, unplanned)
        fits = len(cells) == len(place) == len(whose) == said["cells"] == sum(body["outcomes"].values())
        fits &= [e["label"] for e in said["candidates"]] == order and (len(shown) == len(cells) or whose == place)
        expect(fits, "a cell of its run is left out, there twice, or not where its candidate's are")
        if len(shown) < len(cells) and len(order) > 1 and plan.seq not in self.bodies:
            self.told.append(f"that hidden cells of run {run} are, by their places, those of {named(candidate)}")
        alike = {freeze, *(s for s, b in self.bodies.items() if frozen and b.get("identity") == frozen["identity"])}
        scores, unsure, at = {}, set(), {}
        for score in [each for each in self.by_kind["score", run] if each.seq < tally.seq]:
            found, under = self.bodies.get(score.seq), self.rests[score.seq]
            if found is None and (alike & under or not under): unsure.add(score.cell)
            elif found is not None and found["rules"] == rules:
                expect(alike & under or not under, f"event {score.seq} was scored by rules that another event froze")
                scores[score.cell] = found; unsure.discard(score.cell); at[score.cell] = score.seq
        ends = sorted(end for end, count in body["outcomes"].items() for _ in range(count))
        fits = set(whose) <= {*scores, *unsure} and (unsure or ends == sorted(s["outcome"] for s in scores.values()))
        expect(fits, "a cell of its run has no score, or the scores have other outcomes than its tally counts")
        own = [cell for cell in sorted(whose) if whose[cell] == candidate]
        sure = [scores[c] for c in own if c in scores and c not in unsure and metric in scores[c]["applies"]]
        having, total = [score for score in sure if metric in score["metrics"]], 0
        for value in [score["metrics"][metric] for score in having]:
            expect(not rate or value in (0, 1), "a rate of scores that aren't 0 or 1"); total += value
        n, planned, hidden, k = len(having), len(sure), len(unsure & set(own)), round(total); unmeasured = sum(score["outcome"] == "unmeasured" for score in having)
        fits = n <= claim["n"] <= n + hidden and planned <= claim["planned"] <= planned + hidden
        fits = fits and (k <= claim["k"] <= k + claim["n"] - n if rate else hidden or total == claim["total"])
        fits = fits and unmeasured <= claim["unmeasured"] <= unmeasured + hidden
        expect(fits, f"its scores give {plain(total)}/{n} of {planned}, {unmeasured} unmeasured; {hidden} are hidden")
        came = {e.seq for e in self.by_kind["response", run]}.union(  # a response of another ledger was before all
            *({c for c in e.causes if self.events[c].kind == "response"} or {0} for e in self.by_kind["reuse", run]))
        fixed = {freeze, *(f for each in self.about["fixtures"] for f in each["freezes"] if f in plan.causes)}
        before = not self.by_kind["import", run] and max(fixed) < min(came, default=MAX_INT)
        by = f"{plain(total)}/{n} by the scores shown, {hidden} hidden by the tally alone" if hidden else "recounted"
        weak = sum(at.get(cell) in self.links.weak for cell in own)
        by += f", {weak} of them on what a redaction withholds" * bool(weak)
        by += f", {claim['unmeasured']} of them unmeasured and counted by a policy" * bool(claim["unmeasured"])
        if claim["planned"] or claim["n"] or hidden: (self.partly if hidden or weak else self.proved).append(
            f"{plain(claim['k' if rate else 'total'])}/{claim['n']} of {claim['planned']} planned, {by}, rules frozen "
            f"{'before' if before else 'AFTER'} the first response: {named(metric, run, candidate, rules)}")
    def check_fixture(self, fixture):  # every run on it, and which were reported or replaced, as far as can be told
        freezes, runs, whole = set(fixture["freezes"]), fixture["runs"], self.about["complete"]
        shown = {seq: body for seq, body in self.bodies.items() if body.get("what") == "fixture"}
        same = {shown[seq]["digest"] for seq in freezes if seq in shown}
        fits = len(same) < 2 and freezes >= {seq for seq in shown if shown[seq]["digest"] in same}
        fits = fits and (not same or fixture["name"] in [shown[seq]["name"] for seq in freezes if seq in shown])
        expect(fits, "its freezes are other ones, or of another name")
        plans = [self.events[said["plan"]] for said in runs if self.events[said["plan"]].run == said["run"]]
        fits = len(plans) == len(runs) and all(e.kind == "plan" and freezes & set(e.causes) for e in plans)
        gone = {e.run for e in self.lined if e.kind == "plan" and freezes & set(e.causes)} - {e.run for e in plans}
        expect(fits and not gone, f"run {sorted(gone)[:1]} is on it and left out, or one listed isn't")
        kinds = ("reports", "report"), ("superseded_by", "supersede"), ("tainted_by", "taint"), ("", "clear")
        there = {kind: {e.seq: self.bodies.get(e.seq) for e in self.by_kind[kind, ""]} for _, kind in kinds}
        sure = {kind for _, kind in kinds if None not in there[kind].values()}
        bodies = {**there["supersede"], **there["taint"]}
        target = {seq: (each["target"]["what"], each["target"]["id"]) for seq, each in bodies.items() if each}
        replaced, back, over = {}, set(), {each["taint"] for each in there["clear"].values() if each}
        for seq in reversed(there["supersede"]):  # none that is taken back counts, and of several the last
            if seq in target and str(seq) not in back:
                replaced.setdefault(target[seq], [seq])
                back |= {target[seq][1]} if target[seq][0] == "supersession" else set()
        for said in runs:
            run, reused = said["run"], {c for e in self.by_kind["reuse", said["run"]] for c in e.causes}
            of = {("run", run), *(("run", self.events[seq].run) for seq in reused)}
            must = {seq for seq in there["taint"] if target.get(seq) in of and "clear" in sure} - over
            fits = must <= {*said["tainted_by"]} and all({*said[key]} <= {*there[of]} for key, of in kinds[:3])
            fits = fits and (said["reports"] or run not in [each["run"] for each in there["report"].values() if each])
            fits = fits and ("supersede" not in sure or said["superseded_by"] == replaced.get(("run", run), []))
            expect(fits, f"run {run} was reported, superseded or tainted otherwise than is said")
        all_of = [[e["run"], self.course(e["run"]), *(f"{by} {e[by]}" for by, _ in kinds[:3] if e[by])] for e in runs]
        said = f"{many(len(runs), 'run')} on {named(fixture['name'])}: {'; '.join(map(', '.join, all_of))}"
        (self.proved if whole else self.told).append(said)
        self.told += [] if whole and same else ["that no more runs, or freezes of the same file, than those are there"]
        self.told += [] if len(sure) == 4 else ["what is superseded or tainted: events of that are hidden"]
    def check_draw(self, reveal, seed, own):  # it is what the seed draws of every cell asked for, and shown whole
        expect(seed is None or (reveal and seed == reveal["seed"]), "it wasn't drawn with the seed given")
        if reveal is None: expect("cases.jsonl" not in self.names, "cases, and nothing was drawn"); return
        every = [each for run in self.about["asked"]["runs"] for each in self.by_kind["cell", run]]
        start = f"eval-ledger/draw@v1\n{base64.b64encode(self.root).decode()}\n"
        every.sort(key=lambda each: sha(f"{start}{each.run}\n{each.cell}\n{reveal['seed']}".encode()))
        drawn, wanted = every[: reveal["n"]], defaultdict(set)
        places, said = [(each.run, each.cell) for each in drawn], [(e["run"], e["cell"]) for e in reveal["drawn"]]
        expect(places == said and len(drawn) == reveal["n"], "the seed draws other cells")
        whys, needed = [*self.hidden.items(), *self.bare], {e.seq for e in self.events.values() if e[3:5] in places}
        for event in sorted(self.events.values(), reverse=True):
            rest = [self.events[seq] for seq in event.causes if event.seq in needed]
            needed |= {each.seq for each in rest if each.cell and each.kind != "cell"}
        gone = [why for seq, why in whys if seq in needed]
        expect(set(gone) <= {"redacted"}, "something of a drawn cell is hidden")
        self.partly += [f"redactions withhold {many(len(gone), 'text')} of drawn cells"] if gone else []
        for body in [self.bodies[each.seq] for each in drawn if each.seq in self.bodies]:
            wanted[body["fixture"], body["case"]].add((body["input"], body["gold"]))
        for row in map(read_json, self.rows("cases.jsonl")):
            expect(set(row) == {"fixture", "line"}, "other keys than a case has")
            case = read_json(row["line"], "id", "input", "gold", parse_int=lambda t: (t,), parse_float=lambda t: (t,))
            mine = {tuple(digest(case[what], self.bodies[1]["identity_key"]) for what in ("input", "gold"))}
            expect(wanted.pop((row["fixture"], case["id"])) == mine, f"case {clean(case['id'])} isn't the one measured")
        expect(not wanted, f"{many(len(wanted), 'case')} of drawn cells left out")
        self.proved.append(f"{len(drawn)} of {len(every)} cells, drawn by {named(reveal['seed'])}, are shown whole")
        self.told += [] if seed else ["that the seed wasn't chosen to suit: give --seed, with your own"]
        self.told += [] if own else ["that the root is from before the seed was known: give --checkpoint, with yours"]
def main(arguments=None):
    parser = argparse.ArgumentParser(prog="verify.py", description="Check a bundle."); parser.add_argument("bundle")
    parser.add_argument("--key", action="append", default=[], help="NAME+ID+BASE64, or a file that holds it")
    parser.add_argument("--seed", help="what revealed cells must be drawn with")
    parser.add_argument("--checkpoint", help="your own copy of the checkpoint, from before you said the seed")
    given = parser.parse_args(arguments)
    try:
        keys = [Path(key).read_text(encoding="utf-8").strip() if Path(key).is_file() else key for key in given.key]
        [read_key(key) for key in keys]; own = Path(given.checkpoint).read_bytes() if given.checkpoint else None
        found = Bundle(given.bundle); found.check_all(keys, given.seed, own)
    except Exception as why:  # noqa: BLE001  a zip can be broken in more ways than zipfile names
        print(f"can't be read: {plainly(why)}", file=sys.stderr); return 2
    print(f"evidence of the ledger {clean(found.origin)}, checkpoint of {many(found.size, 'event')}, "
          f"signed by {clean(', '.join(found.signers)) or 'NOBODY THAT WAS CHECKED: give --key, with theirs'}")
    some = {"FALSE": found.problems, "PROVED IN PART": found.partly, "PROVED": found.proved, "ONLY TOLD": found.told}
    for what, each in [(what, each) for what, these in some.items() for each in [*dict.fromkeys(these)][:1000]]:
        print(f"{what if found.signers or what[0] in 'FO' else 'UNSIGNED, NOT PROVED'}: {each}")
    for kind, why in sorted({(found.events[seq].kind, why) for seq, why in found.hidden.items()}):
        at = {seq for seq, each in found.hidden.items() if (found.events[seq].kind, each) == (kind, why)}
        ends = zip(*(sorted(n for n in at if n + step not in at) for step in (-1, 1)))  # noqa: B905  Python 3.9
        all_of = [f"{a}-{z}" if a < z else f"{a}" for a, z in ends]
        more = f", and {many(len(all_of) - 20, 'more place')}" if len(all_of) > 20 else ""
        print(f"HIDDEN: {len(at)} {kind}, {clean(why)}: {', '.join(all_of[:20])}{more}")
    print(f"HIDDEN: {many(len(found.bare), 'blob')} of events that are shown\n" * bool(found.bare), end="")
    status, false = 1 if found.problems or not found.signers else 3 if found.partly else 0, len({*found.problems})
    said = f"FALSE: {many(false, 'thing')}, said above" if false else "NOT PROVED: no key was given"
    last = ["all that is claimed is proved", said, "", "nothing is false; some of it is proved in part"][status]
    print(last); return status
if __name__ == "__main__": sys.exit(main())
