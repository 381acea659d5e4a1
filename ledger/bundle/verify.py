"""Check an evidence bundle of an evaluation ledger without the ledger, and without its code.

    python verify.py evidence.zip --key VKEY [--seed S --checkpoint FILE]   VKEY: NAME+ID+BASE64, or a file with it

Take this file and the key from elsewhere than the bundle: a forger forges the copy inside too. Python 3.9, blake3 and
cryptography; RFC 6962 section 2.1, RFC 8032, c2sp.org/tlog-checkpoint, eval-ledger's docs/FORMAT.md and BUNDLES.md.
Exit: 0 all is proved; 1 something is false, or no key was given; 2 not readable; 3 proved in part: something is hidden.
"""

# fmt: off
# ruff: noqa: E701, E702, E704  what is short stands on one line: the whole is to be read by people
# pyright: basic, reportOptionalSubscript=false, reportOptionalMemberAccess=false
import argparse, base64, datetime, hashlib, io, json, re, sys, zipfile  # noqa: E401, I001  few lines, to be read
from collections import defaultdict, namedtuple
from pathlib import Path
try:
    from blake3 import blake3
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    print("two packages are needed: python -m pip install blake3 cryptography", file=sys.stderr); sys.exit(2)
__all__ = ["check_checkpoint", "check_note", "inclusion_root", "main", "read_key"]
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
def expect(true, said):
    if not true: raise ValueError(said)
def clean(value):  # what somebody else wrote, as printable ASCII and short: there are characters that a terminal obeys
    return "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in str(value)[:200])
def plainly(problem):
    return "not as BUNDLES.md says: " * (not isinstance(problem, (ValueError, OSError, zipfile.error))) + clean(problem)
def many(count, what): return f"{count} {what}{'s' * (count != 1)}"
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
class Bundle:  # `problems` are false, `partly` is proved in part, `proved` is proved, `told` is only said
    def __init__(self, path):  # members in their order, none twice, of sizes that can be borne
        self.problems, self.partly, self.proved, self.told, self.signers, self.lined = [], [], [], [], [], []
        self.events, self.rests, self.bodies, self.hidden, self.bare, self.texts = {}, {}, {}, {}, [], {}
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
        fits = infos[0].header_offset == 0 and self.zip.fp.seek(-22, 2) and self.zip.fp.read(4) == b"PK\5\6"
        fits = fits and sum(info.file_size for info in infos) <= min(MAX_ALL, 1100 * Path(path).stat().st_size)
        expect(fits and self.zip.testzip() is None, "a member is damaged, or too large, or more is there than the zip")
        self.about = read_json(self.zip.read("bundle.json").decode(), "asked", "complete", "claims", "reveal")
        self.wanted = set(self.about["asked"]["events"])
        expect(self.about.get("bundle") == 1, f"expected a bundle of version 1, got {clean(self.about.get('bundle'))}")
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
        row = read_json(row, "line", "proof", "body", "salt", "why", "blobs")
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
        self.bodies.update({seq: value} if event.kind in KEPT else {})
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
        scores, unsure = {}, set()
        for score in [each for each in self.by_kind["score", run] if each.seq < tally.seq]:
            found, under = self.bodies.get(score.seq), self.rests[score.seq]
            if found is None and (alike & under or not under): unsure.add(score.cell)
            elif found is not None and found["rules"] == rules:
                expect(alike & under or not under, f"event {score.seq} was scored by rules that another event froze")
                scores[score.cell] = found; unsure.discard(score.cell)
        ends = sorted(end for end, count in body["outcomes"].items() for _ in range(count))
        fits = set(whose) <= {*scores, *unsure} and (unsure or ends == sorted(s["outcome"] for s in scores.values()))
        expect(fits, "a cell of its run has no score, or the scores have other outcomes than its tally counts")
        own = [cell for cell in sorted(whose) if whose[cell] == candidate]
        sure = [scores[c] for c in own if c in scores and c not in unsure and metric in scores[c]["applies"]]
        having, total = [score for score in sure if metric in score["metrics"]], 0
        for value in [score["metrics"][metric] for score in having]:
            expect(not rate or value in (0, 1), "a rate of scores that aren't 0 or 1"); total += value
        n, planned, hidden, k = len(having), len(sure), len(unsure & set(own)), round(total)
        unmeasured = sum(score["outcome"] == "unmeasured" for score in having)
        fits = n <= claim["n"] <= n + hidden and planned <= claim["planned"] <= planned + hidden
        fits = fits and (k <= claim["k"] <= k + claim["n"] - n if rate else hidden or total == claim["total"])
        fits = fits and unmeasured <= claim["unmeasured"] <= unmeasured + hidden
        expect(fits, f"its scores give {total}/{n} of {planned}, {unmeasured} unmeasured; {hidden} are hidden")
        came = {e.seq for e in self.by_kind["response", run]}.union(  # a response of another ledger was before all
            *({c for c in e.causes if self.events[c].kind == "response"} or {0} for e in self.by_kind["reuse", run]))
        fixed = {freeze, *(f for each in self.about["fixtures"] for f in each["freezes"] if f in plan.causes)}
        before = not self.by_kind["import", run] and max(fixed) < min(came, default=MAX_INT)
        by = f"{total}/{n} by the scores shown, {hidden} hidden by the tally alone" if hidden else "recounted"
        by += f", {claim['unmeasured']} of them unmeasured and counted by a policy" * bool(claim["unmeasured"])
        (self.partly if hidden else self.proved).append(
            f"{claim['k' if rate else 'total']}/{claim['n']} of {claim['planned']} planned, {by}, rules frozen "
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
