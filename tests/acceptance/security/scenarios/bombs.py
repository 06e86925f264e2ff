"""Inputs that are small to send and large to work on, or that try to leave their place."""

import base64
import gzip
import io
import json
import os
import subprocess
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

from fakes import call, say
from judging import SLACK, all_of, check, scenario, short
from stage import TEMPLATES, Stage, unique

from tests.acceptance._lib.processes import SERVE

# ---- GraphQL ---------------------------------------------------------------------------------------------------------


@scenario("graphql-bombs")
def graphql(stage: Stage) -> None:
    """Aliases, depth, fragments that multiply or go round, directives, introspection without end, batches, overlapping fields: each is answered within 1.5 s with 4xx or errors, never 5xx."""
    server, wrong = stage.shared(), []
    queries = {
        "1,000 aliases": "{" + " ".join(f"a{n}:__typename" for n in range(1000)) + "}", "depth 1,500": "{" * 1500 + "a" + "}" * 1500,
        "fragments in a circle": "query{...A} fragment A on Query{...B} fragment B on Query{...A}",
        "fragments that double": "query{...F0}" + "".join(f" fragment F{n} on Query{{...F{n + 1} ...F{n + 1}}}" for n in range(25)) + " fragment F25 on Query{__typename}",
        "400 directives": "{__typename " + "@skip(if:false)" * 400 + "}", "introspection": "{__schema{types{fields{type{fields{type{fields{type{fields{type{name}}}}}}}}}}}",
        "ofType": "{__schema{types{fields{args{type{" + "ofType{" * 100 + "name" + "}" * 100 + "}}}}}}", "a number of 50,000 digits": "{a(b:" + "9" * 50_000 + ")}",
        "overlapping": "{" + " ".join("a:__typename" for _ in range(390)) + "}", "60 fragments": "{" + " ".join(f"...F{n}" for n in range(60)) + "}" + "".join(f" fragment F{n} on Query{{availableAgents{{agents{{id name description}}}}}}" for n in range(60)),
        "two operations": "query a{__typename} query b{__typename}", "subscription": "subscription{x}",
    }  # fmt: skip
    bodies = {name: json.dumps({"query": query}) for name, query in queries.items()}
    bodies["a batch of 1,000"] = json.dumps([{"query": "{__typename}"}] * 1000)
    for name, body in bodies.items():
        began = time.monotonic()
        status, _, text = server.post("/copilotkit", body, key="alice", headers={"content-type": "application/json"})
        took = time.monotonic() - began
        if status >= 500 or took > 1.5 * SLACK or len(text) > 2_000_000:
            wrong.append(f"{name}: {status}, {len(text):,} bytes after {took:.1f} s")
    all_of(wrong)


@scenario("graphql-suggestions")
def suggestions(stage: Stage) -> None:
    """A field, an argument or a type that does not exist is an error without a suggestion of one that does."""
    server = stage.shared()
    for query in ("{ availableAgent { agents { id } } }", "{ availableAgents { agent { id } } }", "query q($d: LoadAgentStateInpu!) { loadAgentState(data: $d) { threadId } }"):
        text = server.post("/copilotkit", {"query": query}, key="alice")[2]
        check("Did you mean" not in text, f"{query} was answered with a suggestion")


# ---- JSON Schemas of tools -------------------------------------------------------------------------------------------


@scenario("hostile-schemas")
def schemas(stage: Stage) -> None:
    """Schemas of a client's tools with patterns that backtrack, references to files, addresses and themselves, alternatives that multiply, and great depth: each run ends within 2 s, never with 5xx, and nothing is fetched."""
    server, wrong = stage.shared(), []
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(25)} | {"d25": {"type": "integer"}}
    deep: dict = {"type": "object"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"a": deep}}
    found = {
        "(a+)+$": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["a"]}, "(a|a)*": {"type": "object", "patternProperties": {"^(a|a)*$": {}}, "properties": {"a": {"pattern": "(a|aa)+$"}}},
        "back reference": {"properties": {"a": {"pattern": "^(?=(a+))\\1+b$"}}}, "itself": {"$ref": "#"}, "an address": {"$ref": f"{stage.trap.url}/schema"}, "a file": {"$ref": "file:///etc/passwd"},
        "alternatives": {"$defs": doubling, "properties": {"a": {"$ref": "#/$defs/d0"}}}, "300 deep": deep, "100,000 values": {"type": "object", "properties": {"a": {"enum": [str(n) for n in range(100_000)]}}},
        "a billion items": {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**9}}}, "nested counts": {"properties": {"a": {"pattern": "((((a{1,1000}){1,1000}){1,1000}){1,1000})"}}}, "no schema": {"type": 5},
    }  # fmt: skip
    tag = stage.says(lambda asked: say("done") if asked.is_after_a_tool else call("t", {"a": "a" * 40 + "!"}))
    for name, schema in found.items():
        for face in ("AG-UI", "OpenAI"):
            began = time.monotonic()
            if face == "AG-UI":
                status, _, text = server.run("plain", f"go {tag}", tools=[{"name": "t", "description": "", "parameters": schema}])
            else:
                form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
                status, _, text = server.chat("plain", f"go {tag}", tools=[{"type": "function", "function": {"name": "t", "parameters": schema, "strict": True}}], response_format=form)
            took = time.monotonic() - began
            if status >= 500 and "model" not in text or took > 2 * SLACK:
                wrong.append(f"{name}, {face}: {status} after {took:.1f} s {short(text[-80:], 80)}")
    check(not [path for _, path, *_ in stage.trap.hits if path == "/schema"], "an address of a schema was visited")
    all_of(wrong)


# ---- chat templates --------------------------------------------------------------------------------------------------

TEMPLATE = {
    "CVE-2024-34359": "{% for x in ().__class__.__base__.__subclasses__() %}{% if 'warning' in x.__name__ %}{{x()._module.__builtins__['__import__']('os').popen('id').read()}}{% endif %}{% endfor %}",
    "power": "{{ 9**9**9**9 }}", "globals": "{{ cycler.__init__.__globals__.os.popen('id').read() }}", "CVE-2024-56326": "{{ '{0.__class__.__base__.__subclasses__}'.format(1) }}", "attr": "{{ ''|attr('__class__') }}{{ ''|attr('__cla' ~ 'ss__')|attr('__mro__') }}",
    "format_map": "{{ '{x.__class__}'.format_map({'x': 1}) }}", "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}", "a billion letters": "{{ 'a' * 10**9 }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "include": "{% include '/etc/passwd' %}", "indent": "{{ messages | tojson(indent=1000000000) }}", "depth": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
}  # fmt: skip


@scenario("templates", alone=True)
def templates(stage: Stage) -> None:
    """Twelve hostile chat templates that an engine tells (code, loops, memory, files): no prompt shows what code or a file would say, each ends within 8 s, and /health stays within bounds."""
    check(len(TEMPLATE) == TEMPLATES, "as many templates as engines")
    stage.engines.templates = list(TEMPLATE.values())
    server, wrong = stage.shared(), []
    with server.watched() as _:
        for number, name in enumerate(TEMPLATE):
            began = time.monotonic()
            status, _, text = server.chat(f"template-{number}", "hello", timeout=15)
            took = time.monotonic() - began
            prompts = "".join(stage.engines.prompts.get(number, []))
            if took > 8 * SLACK:
                wrong.append(f"{name} took {took:.1f} s")
            if any(sign in prompts + text for sign in ("uid=", "root:", "<class", "subclasses of", "<method")) or len(prompts) > 10_000_000:
                wrong.append(f"{name} ran: {short(prompts + text, 80)}")
            if not any(path.startswith(f"/{number}/props") for _, path, *_ in stage.engines.hits):
                wrong.append(f"{name} was never fetched from its engine (else this scenario is blind)")
    all_of(wrong)


# ---- documents -------------------------------------------------------------------------------------------------------


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


HEAD = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
LOL = b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">' + b"".join(b'<!ENTITY %c "' % n + b"&%c;" % p * 10 + b'">' for p, n in zip(b"abcdefgh", b"bcdefghi")) + b"]>"
XXE = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
RELATIONS = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/></Relationships>'


def xlsx(sheet: bytes) -> bytes:
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
    book = b'<workbook xmlns="' + main + b'" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    return zipped({
        "[Content_Types].xml": HEAD + kinds, "_rels/.rels": HEAD + RELATIONS % (b"officeDocument", b"xl/workbook.xml"), "xl/workbook.xml": HEAD + book,
        "xl/_rels/workbook.xml.rels": HEAD + RELATIONS % (b"worksheet", b"worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml": sheet.replace(b"@NS@", b'xmlns="' + main + b'"'),
    })  # fmt: skip


def docx(document: bytes) -> bytes:
    kinds = b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    return zipped({"[Content_Types].xml": HEAD + kinds, "_rels/.rels": HEAD + RELATIONS % (b"officeDocument", b"word/document.xml"), "word/document.xml": document})


def documents() -> dict[str, tuple[str, bytes]]:
    word = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>'
    cell = b'<row r="1"><c r="A1" t="inlineStr"><is><t>%s</t></is></c></row>'
    flate = zlib.compress(b"0 0 m " * (16 << 20), 9)
    pdf = b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n4 0 obj<</Length %d/Filter/FlateDecode>>stream\n" % len(flate) + flate + b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    return {
        "a sheet of 100 MB": ("xlsx", xlsx(HEAD + b"<worksheet @NS@><sheetData>" + cell % (b"a" * (100 << 20)) + b"</sheetData></worksheet>")),
        "a sheet with entities": ("xlsx", xlsx(HEAD + LOL + b"<worksheet @NS@><sheetData>" + cell % b"&i;" + b"</sheetData></worksheet>")),
        "a sheet with a file": ("xlsx", xlsx(HEAD + XXE + b"<worksheet @NS@><sheetData>" + cell % b"&e;" + b"</sheetData></worksheet>")),
        "a sheet that ends far away": ("xlsx", xlsx(HEAD + b'<worksheet @NS@><sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>')),
        "a letter of 100 MB": ("docx", docx(HEAD + word % (b"a" * (100 << 20)))), "a letter with entities": ("docx", docx(HEAD + LOL + word % b"&i;")), "a letter with a file": ("docx", docx(HEAD + XXE + word % b"&e;")),
        "a PDF that goes round": ("pdf", b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]/Count 100000000>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"),
        "a PDF that swells": ("pdf", pdf), "a PDF of noise": ("pdf", b"%PDF-1.7\n" + os.urandom(100_000)), "JSON a million deep": ("json", b"[" * 1_000_000),
        "HTML half a million deep": ("html", b"<div>" * 500_000), "a picture of 4 exapixels": ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0" + b"\0" * 100),
    }  # fmt: skip


@scenario("documents", alone=True)
def document_bombs(stage: Stage) -> None:
    """Thirteen hostile documents through OpenBB (bombs, entities, files of the host, circles, depth): no file of the host is shown, each answer ends within 15 s, /health stays within bounds, and the server grows by less than 150 MB."""
    server, wrong = stage.shared(), []
    told: list[str] = []
    tag = stage.says(lambda asked: told.append(asked.text) or say("read"))
    made = documents()
    plain = {"content": base64.b64encode(b"name,amount\nplain-marker,1\n").decode(), "data_format": {"data_type": "csv", "filename": "f.csv"}}
    server.query(f"read it {tag}", context=[{"uuid": unique(), "name": "f", "description": "", "data": {"items": [plain]}}])
    check("plain-marker" in "".join(told), "a plain document is read (else this scenario is blind)")
    before = server.memory()
    with server.watched() as _:
        for name, (kind, content) in made.items():
            item = {"content": base64.b64encode(content).decode(), "data_format": {"data_type": kind, "filename": f"f.{kind}"}}
            began = time.monotonic()
            status, _, text = server.query(f"read it {tag}", context=[{"uuid": unique(), "name": "f", "description": "", "data": {"items": [item]}}], timeout=30)
            took = time.monotonic() - began
            if took > 15 * SLACK or status >= 500:
                wrong.append(f"{name}: {status} after {took:.1f} s")
            if "root:" in "".join(told):
                wrong.append(f"{name} showed a file of the host")
            told.clear()
    if (grown := server.memory() - before) > 150:
        wrong.append(f"the server grew by {grown:.0f} MB")
    all_of(wrong)


# ---- packages --------------------------------------------------------------------------------------------------------

META = json.dumps({"id": "p", "name": "P", "description": "A plugin with a description that is long enough.", "version": "1.0.0"}).encode()
NAMES = ("../evil", "p/../../evil", "/evil-root", "p/..\\..\\evil", "C:/evil", "..", "p/" + "a" * 300, "./p/../../evil", "P/plugin.json", "p/a\nb")


def archives(folder: Path) -> dict[str, Path]:
    made = {}

    def zip_of(name: str, entries: list[tuple[str, bytes, int]]) -> None:
        path = folder / f"z{len(made)}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, content, mode in entries:
                info = zipfile.ZipInfo(entry)
                info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
                archive.writestr(info, content)
        made[name] = path

    def tar_of(name: str, entries: list[tuple[str, bytes, bytes, str]]) -> None:
        path = folder / f"t{len(made)}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for entry, content, kind, link in entries:
                info = tarfile.TarInfo(entry)
                info.type, info.linkname, info.size = kind, link, len(content) if kind == tarfile.REGTYPE else 0
                archive.addfile(info, io.BytesIO(content) if info.size else None)
        made[name] = path

    first = ("p/plugin.json", META, 0o100644)
    for name in NAMES:
        zip_of(f"zip, {name[:20]!r}", [first, (name, b"x", 0o100644)])
    zip_of("zip, a link", [first, ("p/l", b"/etc/passwd", 0o120777)])
    zip_of("zip, a link to a folder and a file below it", [first, ("p/l", str(folder).encode(), 0o120777), ("p/l/evil", b"x", 0o100644)])
    zip_of("zip, 200 MB in 200 kB", [first, ("p/b", b"\0" * (200 << 20), 0o100644)])
    zip_of("zip, 20,000 files", [first, *((f"p/f{n}", b"", 0o100644) for n in range(20_000))])
    zip_of("zip, two names that differ in case", [first, ("p/PLUGIN.json", b"{}", 0o100644)])
    for kind, link in ((tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "/etc/passwd"), (tarfile.CHRTYPE, ""), (tarfile.FIFOTYPE, "")):
        tar_of(f"tar, kind {kind.decode()}", [("p/plugin.json", META, tarfile.REGTYPE, ""), ("p/l", b"", kind, link)])
    tar_of("tar, ..", [("p/plugin.json", META, tarfile.REGTYPE, ""), ("../evil", b"x", tarfile.REGTYPE, "")])
    bomb = folder / "bomb.tar.gz"
    with gzip.open(bomb, "wb", 1) as out:
        info = tarfile.TarInfo("p/b")
        info.size = 2 << 30
        out.write(info.tobuf())
        for _ in range(150):
            out.write(b"\0" * (1 << 20))
    made["tar, 2 GB promised"] = bomb
    return made


@scenario("packages")
def packages(stage: Stage) -> None:
    """Some twenty hostile plugin packages (paths that leave, links, devices, bombs, 20,000 files, names that differ in case): each is refused within 20 s, and nothing is written outside of the folder or left inside."""
    home = stage.folder / unique("packages")
    outside, into = home / "outside", home / "outside" / "deep" / "plugins"
    into.mkdir(parents=True)
    made, wrong = archives(home), []
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RS_")}

    def install(package: Path) -> int:
        done = subprocess.run([SERVE.resolve(), "security", "install", package, into], env=clean, stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * SLACK, check=False)
        return done.returncode

    good = home / "good.zip"
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("g/plugin.json", META.replace(b'"p"', b'"g"'))
    check(install(good) == 0 and (into / "g" / "plugin.json").exists(), "a good package is installed (else this scenario is blind)")
    expected = sorted(outside.rglob("*"))
    for name, package in made.items():
        began = time.monotonic()
        code = install(package)
        if code == 0:
            wrong.append(f"{name} was installed")
        if (took := time.monotonic() - began) > 20 * SLACK:
            wrong.append(f"{name} took {took:.1f} s")
        if sorted(outside.rglob("*")) != expected or (home / "evil").exists() or Path("/evil-root").exists():
            wrong.append(f"{name} left something behind")
            expected = sorted(outside.rglob("*"))
    all_of(wrong)
