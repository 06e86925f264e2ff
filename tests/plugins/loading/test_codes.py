"""Every code that loading can give, by one fault each, at its line."""

from dataclasses import dataclass, field

import pytest

from rightseat.plugins.diagnostics import KINDS, Mode
from rightseat.plugins.loading import OperatorSettings, PluginLimits
from tests.plugins.loading.sample import FLOW, METADATA, OPENAPI, SAMPLE, codes, load, one

P, O, F = "plugin.json", "openapi.yaml", "flows/look_up.yaml"  # noqa: E741


@dataclass(frozen=True)
class Fault:
    """`old` becomes `new` in `file`; the diagnostic is on the line of `at`, and about the whole file without it."""

    code: str
    file: str
    old: str = ""
    new: str = ""
    at: str = ""
    add: dict[str, str | bytes] = field(default_factory=dict)
    mode: Mode = "compat"
    told_in: str = ""
    id: str = "sample"
    limits: PluginLimits = PluginLimits()  # noqa: RUF009
    operator: OperatorSettings = OperatorSettings()  # noqa: RUF009

    def __str__(self) -> str:
        return f"{self.code}-{self.new.strip()[:20]}"


THING = "type: string\n"
SIZE = "type: integer\n"
SMALL = '{"id": "sample", "name": "Sample", "description": "Looks things up by their ids."'
FLOW_TWO = FLOW.replace("name: look_up", "name: Look_Up")
SECOND = "  - name: spare\n    call_type: none\n  - name: end"
LIB = {"lib/__init__.py": "class T:\n    name = 'rank'\nexported = [T]\n"}
HEADER = "        - name: Host\n          in: header\n          schema: {type: string}\n"
OIDC = '"type": "oidc", "access_token_url": "https://id.example.com/t", "domain": "d"'
FORM = "          x-www-form-urlencoded:\n"
MANY = "anyOf: [" + ", ".join(["{type: string}"] * 9) + "]\n"
BODY = """\
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {a: {type: string}}}
"""
FILE = "{type: object, properties: {f: {type: string, format: binary}}}"
DEEP = f"""\
multipart/form-data:
            schema: {{type: object, properties: {{a: {FILE}}}}}
          application/xml:
"""
TWO_BASES = '"databases": {"a": {}, "b": {}},\n  "auth"'
PATHS_21 = "".join(
    f"  /p{n}:\n    get: {{description: Number {n} of many., responses: {{'200': {{description: x}}}}}}\n"
    for n in range(21)
)

FAULTS = [
    Fault("I100", P, add={"notes.txt": "x"}, told_in="notes.txt"),
    Fault(
        "E101",
        O,
        "One thing",
        "\udcff",
        add={O: OPENAPI.encode().replace(b"One thing", b"\xff\xfe")},
        at="operationId: get",
    ),
    Fault("E102", P, '"1.2.3",', '"1.2.3", // the version', at="// the"),
    Fault("E102", P, 'SAMPLE}" }', 'SAMPLE}", }', at="SAMPLE"),
    Fault("E103", P, '"name": "Sample",', '"name": "Sample",\n  "name": "Again",', at="Again"),
    Fault("E104", P, '"Sample"', '"Sam\\u0007ple"', at="u0007"),
    Fault("E105", P, add={"openapi.json": "{}"}, told_in="openapi.json"),
    Fault("E106", P, add={P: b""}),
    Fault("E107", P, '"Sample"', "12", at=" 12"),
    Fault("E107", P, '  "name": "Sample",\n', "", at="{"),
    Fault("E108", F, at="steps:", limits=PluginLimits(max_steps=2)),
    Fault("E108", O, limits=PluginLimits(max_file_bytes=900)),
    Fault("E110", P, '"header"', '"magic"', at="magic"),
    Fault("E111", P, '"auth"', '"databases": {"a": {"bundled": "data/a.sql"}},\n  "auth"', at="data/a.sql"),
    Fault("E112", P, add={"lib/tool.py": "x = 1"}, told_in="lib"),
    Fault("W101", P, '"id": "sample"', '"id": "other"', at="other"),
    Fault("W102", P, add={O: b"", F: b""}, at="{"),
    Fault("W103", P, '"version"', '"verson": 1,\n  "version"', at="verson"),
    Fault("W104", P, '"id": "sample"', '"id": "Sample"', at='"id"'),
    Fault("W105", P, '"Sample"', '"A name of many letters"', at="many letters"),
    Fault("W106", P, "Looks things up by their id and starts jobs.", "Things.", at="Things."),
    Fault("W110", P, '"header"', '"params"', at="params"),
    Fault("W111", P, '"type": "header"', OIDC, at='"auth"'),
    Fault("W112", P, "Bearer ${secret:SAMPLE}", "Bearer sk-1234", at="sk-1234"),
    Fault("W113", P, at="secret:SAMPLE", operator=OperatorSettings(secrets=[])),
    Fault("W115", O, "https://api.example.com/v1", "http://10.0.0.5:8080/v1", at="10.0.0.5"),
    Fault("W115", O, "https://api.example.com/v1", "http://stock.internal", at="stock.internal"),
    Fault("W115", P, '"type": "header"', OIDC.replace("id.example.com", "sso"), at='"auth"'),
    Fault(
        "W114",
        O,
        "        - name: id\n",
        HEADER.replace("Host", "authorization") + "        - name: id\n",
        at="authorization",
    ),
    Fault("E201", O, "openapi: 3.0.3", "swagger: '2.0'", at="swagger"),
    Fault("E201", O, "openapi: 3.0.3", "openapi: 4.0.0", at="4.0.0"),
    Fault("E202", O, "  version: 1.0.0", "  version: 1.0.0\n  title: Again", at="Again"),
    Fault("E203", O, "title: Sample", "title: !mine Sample", at="!mine"),
    Fault("E203", O, "info:", "info: !!python/dict", at="!!python"),
    Fault("E204", O, "openapi: 3.0.3\n", "", at="info"),
    Fault("E205", O, "servers:\n  - url: https://api.example.com/v1\n", "", at="openapi"),
    Fault("E205", O, "https://", "ftp://", at="ftp"),
    Fault("E206", O, "https://api.example.com/v1", "/v1", at="url: /v1"),
    Fault("E207", O, "https://", "https://me:secret@", at="me:secret"),
    Fault("E208", O, "example.com", "example.com:port", at=":port"),
    Fault("E209", O, "start_job", "get_thing", at="operationId: get_thing\n      description: Starts"),
    Fault(
        "E210",
        O,
        "application/json:\n            schema:",
        "application/xml:\n            schema:",
        at="application/xml",
    ),
    Fault("E211", O, "schema: {type: object}", "schema: {$ref: 'https://e.com/s.yaml'}", at="https://e.com"),
    Fault("E211", O, "schema: {type: object}", "schema: {$ref: '../../etc/x.yaml'}", at="../../etc"),
    Fault("E211", O, "schema: {type: object}", "schema: {$ref: '#nowhere'}", at="#nowhere"),
    Fault("E220", O, SIZE, "type: money\n", at="money"),
    Fault(
        "E221",
        O,
        "schema:\n            type: string",
        "schema:\n            - type: string\n            - type: integer",
        at="- type: string",
    ),
    Fault("E222", O, THING, "type: string\n            pattern: '(a)\\1'\n", at="pattern"),
    Fault("E223", O, THING, 'type: string\n            pattern: "\\d"\n', at="pattern", mode="strict"),
    Fault(
        "E224",
        O,
        "application/json:\n            schema:",
        DEEP + "            schema:",
        at="schema: {type: object, properties: {a",
    ),
    Fault("E228", O, "info:\n  title", "info:\n\ttitle", at="\ttitle"),
    Fault("E229", O, "title: Sample", "title: [Sample", at="version: 1.0.0"),
    Fault("E230", O, "title: Sample", "title: " + "[" * 80, at="title: ["),
    Fault("E230", O, "info:", "x: [&a [1,1,1], &b [*a,*a,*a], [*b,*b,*b]]\ninfo:", limits=PluginLimits(max_values=90)),
    Fault("E231", O, "          in: path", "          in: heart", at="- name: id"),
    Fault("W201", O, "  title: Sample\n", "", at="version: 1.0.0"),
    Fault("W202", O, "servers:\n", "servers:\n  - url: https://two.example.com\n", at="- url: https://two"),
    Fault("W203", O, "    get:\n", "    delete:\n", at="delete:"),
    Fault("W203", O, "    get:\n", "    head:\n", at="head:"),
    Fault("W204", O, "  /jobs:\n", "  /jobs:\n    options: {}\n", at="options"),
    Fault("W205", O, "description: One thing by its id.", "summary: One thing.", at="get:"),
    Fault("W206", O, "      description: One thing by its id.\n", "", at="get:"),
    Fault("W207", O, "    get:\n", "    put:\n", at="put:"),
    Fault("W208", O, "      operationId: get_thing\n", BODY + "      operationId: get_thing\n", at="requestBody"),
    Fault("W209", O, "          application/json:\n            schema:", FORM + "            schema:", at="x-www-form"),
    Fault("W210", O, "      responses:\n        '200':\n          description: The job.\n", "", at="post:"),
    Fault("W211", O, "/things/{id}", "/things/{other}", at="get:"),
    Fault("W213", O, "  /jobs:\n", "  /jobs:\n    servers: []\n", at="/jobs:"),
    Fault("W220", O, SIZE, "type: any\n", at="type: any"),
    Fault("W221", O, SIZE, "type: timestamp\n", at="timestamp"),
    Fault("W222", O, SIZE, "type: date\n", at="type: date"),
    Fault("W223", O, "schema:\n            type: string", "schema:\n            - type: string", at="- type: string"),
    Fault("W224", O, SIZE, MANY, at="anyOf"),
    Fault("W226", O, THING, 'type: string\n            pattern: "\\d"\n', at="pattern"),
    Fault("E301", F, add={"flows/two.yaml": FLOW_TWO}, told_in="flows/two.yaml"),
    Fault("E302", F, "name: look_up", "name: look.up", at="look.up"),
    Fault("E303", F, "name: explain", "name: start", at="name: start\n    call_type: llm"),
    Fault(
        "E304",
        F,
        'call_type: llm\n    params:\n      user_prompt: "Ex',
        'call_type: lllm\n    params:\n      user_prompt: "Ex',
        at="lllm",
    ),
    Fault("E305", F, "name: start", "name: begin", at="steps:"),
    Fault("E306", F, "next: which", "next: whch", at="whch"),
    Fault("E307", F, "    next: end", "    next: explain", at="next: explain"),
    Fault("E308", F, "next_flow: []", "parallel: []", at="parallel"),
    Fault("E308", F, "    next: which", "    foreach: x\n    next: which", at="foreach"),
    Fault("E309", F, "on_error:\n  call_type: llm", "on_error:\n  call_type: choice", at="call_type: choice"),
    Fault("E310", F, "description: Looks", "descripton: Looks", at="name: look_up"),
    Fault("W301", F, "name: look_up", "name: 查询", at="查询"),
    Fault("W302", F, "on_error:\n", "on_error:\n  name: oops\n", at="name: oops"),
    Fault("W303", F, "instruction:", "votess: 3\n      instruction:", at="votess"),
    Fault("W304", F, "    call_type: none", "    call_type: none\n    next: start", at="next: start"),
    Fault(
        "W305",
        F,
        'call_type: llm\n    params:\n      user_prompt: "Explain {data} for {question}."',
        "call_type: none",
        at="next: end",
    ),
    Fault("W306", F, "  - name: end", SECOND, at="spare"),
    Fault("W307", F, "    next: end", "    next: which", at="- name: which"),
    Fault("I301", F, "    next: end\n", "", at="- name: explain"),
    Fault("E401", F, "GET /things/{id}", "GET /thing/{id}", at="GET /thing"),
    Fault("E402", O, "        - name: id\n", HEADER + "        - name: id\n", at="name: Host"),
    Fault("E403", F, "step: explain", "step: explian", at="explian"),
    Fault("E404", F, "step: explain", "step: which", at="step: which"),
    Fault("E406", F, "call_type: none", "call_type: extract\n    params:\n      keys: []", at="keys"),
    Fault("E407", F, "instruction: Is there anything?", "instruction: [1]", at="instruction"),
    Fault("E408", F, "data.total > 0", "data.total >", at="when"),
    Fault("E409", F, "call_type: none", "call_type: extract\n    params:\n      keys: ['a..b']", at="keys"),
    Fault("W405", F, "    call_type: choice", "    call_type: choice\n    next: end", at="next: end\n    params"),
    Fault("E501", F, "{question}", "{qestion}", at="qestion", mode="strict"),
    Fault("W501", F, "{question}", "{qestion}", at="qestion"),
    Fault("W501", F, "{question}", "{error.message}", at="Explain"),
    Fault("W501", F, "{question}", "{steps.strt.output}", at="strt"),
    Fault("W502", F, "{question}", "{{ question }}", at="{{ question"),
    Fault("W510", F, "{data} for", "{output} for", at="{output}"),
    Fault("E601", F, "call_type: none", "call_type: sql\n    params: {database: sales}", at="sales"),
    Fault("E601", P, '"auth"', TWO_BASES, add={F: FLOW.replace("call_type: none", "call_type: sql")}, told_in=F),
    Fault("I601", P, "false", "true", add={F: FLOW.replace("name: look_up", "name: get_thing")}, told_in=F),
    Fault("W601", P, "false", "true", add={O: b"", F: FLOW.replace("api\n", "none\n")}, at="automatic"),
    Fault("W602", P, "false", "true", add={O: OPENAPI + PATHS_21}, at="automatic"),
    Fault("W702", P, add={**LIB}, told_in="lib/__init__.py"),
    Fault("W801", F, "next_flow: []", "next_flow: [look_down]", at="look_down"),
]
ELSEWHERE = {
    "E109": "test_files.py",
    "W701": "given when tools are listed, which runs code",
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_R_17_1_a_diagnostic_has_its_code_and_its_line(fault: Fault) -> None:
    files: dict[str, str | bytes] = {**SAMPLE}
    assert fault.old in SAMPLE[fault.file]
    text = SAMPLE[fault.file].replace(fault.old, fault.new, 1) if fault.old else SAMPLE[fault.file]
    files[fault.file] = text
    files |= fault.add
    files = {path: content for path, content in files.items() if content != b""}

    found = load(files, fault.mode, limits=fault.limits, operator=fault.operator, id=fault.id)

    assert fault.code in codes(found), [str(one) for one in found.diagnostics]
    told = next(one for one in found.diagnostics if one.code == fault.code)
    assert told.file == (fault.told_in or fault.file)
    assert told.message.endswith((".", ")", "?")) or fault.code in ("E408", "E409")
    assert (found.plugin is None) == any(one.severity == "error" for one in found.diagnostics)
    if fault.at:
        shown = text if fault.code != "E101" else SAMPLE[O]
        line = shown[: shown.index(fault.at)].count("\n") + 1 + (fault.code == "E101")
        assert told.line == line, str(told)


def test_R_17_1_every_code_has_a_sample() -> None:
    assert {fault.code for fault in FAULTS} | set(ELSEWHERE) == set(KINDS)


def test_the_sample_plugin_has_no_diagnostics() -> None:
    assert load(mode="strict").diagnostics == ()
    assert load(mode="strict").plugin is not None


def test_a_marked_warning_is_an_error_in_strict_mode() -> None:
    spoilt = {**SAMPLE, P: METADATA.replace('"Sample"', '"A name of many letters"')}

    assert one(load(spoilt), "W105").severity == "warning"
    assert load(spoilt).plugin is not None
    assert one(load(spoilt, "strict"), "W105").severity == "error"
    assert load(spoilt, "strict").plugin is None


def test_a_diagnostic_reads_as_one_line_with_its_place() -> None:
    spoilt = {**SAMPLE, F: FLOW.replace("next: which", "next: whch")}

    told = one(load(spoilt), "E306")

    assert str(told) == "flows/look_up.yaml:12:11: E306 `next` names 'whch', which is not a step. Did you mean 'which'?"
    assert told.pointer == "/steps/0/next"
