"""The configuration file: what it means, and what is said when it is wrong."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from rightseat import config
from rightseat.config.document import MAX_CHARS
from rightseat.config.schema import read_schema
from rightseat.core.errors import ConfigError

KNOWN = "Known: anthropic, completion, empty, fallback, google, langchain, openai, scripted."


def parse(text: str, **environ: str) -> config.Config:
    return config.parse(text, Path("rightseat.yaml"), environ)


def problems(text: str, **environ: str) -> list[str]:
    """Each as `line:column: text`."""
    with pytest.raises(ConfigError) as error:
        parse(text, **environ)
    return [line.removeprefix("rightseat.yaml:") for line in error.value.message.splitlines()]


def options(part: config.ConfiguredPart) -> Any:
    return part.options


# What it means when it says nothing


def test_without_a_file_and_a_key_the_built_in_model_answers_every_protocol() -> None:
    read = parse("")

    assert {name: part.type for name, part in read.models.items()} == {"default": "scripted"}
    assert {name: part.type for name, part in read.agents.items()} == {"default": "loop"}
    assert [(face.type, options(face).path) for face in read.faces] == [
        ("copilotkit", "/copilotkit"),
        ("openai", "/v1"),
        ("operator", "/operator"),
        ("console", "/console"),
    ]
    assert options(read.faces[0]).agent == "default"
    assert (read.log.type, read.threads.type, read.engine.type) == ("sqlite", "sql", "local")
    assert (read.server.host, read.server.port, read.server.origins) == ("127.0.0.1", 8000, None)


def test_without_a_file_and_with_a_key_openai_answers() -> None:
    model = parse("", OPENAI_API_KEY="sk-1").models["default"]

    assert model.type == "openai"
    assert options(model).api_key.get_secret_value() == "sk-1"


def test_a_key_for_another_server_goes_to_that_server() -> None:
    model = parse("", OPENAI_API_KEY="gsk-1", OPENAI_BASE_URL="https://groq.test/v1").models["default"]

    assert options(model).base_url == "https://groq.test/v1"


def test_an_empty_key_is_no_key() -> None:
    assert parse("", OPENAI_API_KEY="").models["default"].type == "scripted"


def test_models_alone_are_enough() -> None:
    read = parse("models:\n  fast: {type: openai, model: m}\n")

    assert options(read.agents["default"]).model == "fast"
    assert options(read.faces[0]).agent == "default"


def test_the_only_agent_answers_chats_that_name_none() -> None:
    assert options(parse("agents: {helper: {}}").faces[0]).agent == "helper"


def test_of_several_agents_none_is_chosen_silently() -> None:
    assert options(parse("agents: {one: {}, two: {}}").faces[0]).agent is None


def test_a_section_without_a_value_counts_as_left_out() -> None:
    assert parse("models:\nserver:\nagents:\n  default:\n") == parse("agents: {default: {}}")


# What it says


def test_a_whole_file_is_read() -> None:
    read = parse(
        """
models:
  default: {type: openai, model: gpt-4o-mini, api_key: "${OPENAI_API_KEY}"}
  local: {type: openai, model: llama, base_url: "http://localhost:11434/v1"}
agents:
  default: {type: loop, model: default, instructions: Be brief., max_turns: 4, tools: ["tests.acme.tools:both"]}
  private: {model: local}
faces:
  - {type: copilotkit, path: /copilotkit, agent: default}
  - {type: tests.acme.faces, path: /other, agent: private}
server: {host: 0.0.0.0, port: 9000, origins: ["http://localhost:3000"], headers: [x-tenant], docs: true}
log: {type: memory, max_finished_runs: 8}
threads: {type: memory}
engine: {type: local}
hooks: {before_request: ["tests.acme.tools:refuse_spam"]}
""",
        OPENAI_API_KEY="sk-1",
    )

    assert options(read.models["default"]).api_key.get_secret_value() == "sk-1"
    assert options(read.agents["default"]).tools == ("tests.acme.tools:both",)
    assert options(read.agents["private"]).model == "local"
    assert [face.type for face in read.faces] == ["copilotkit", "tests.acme.faces"]
    assert options(read.log).max_finished_runs == 8
    assert read.server.origins == ("http://localhost:3000",)
    assert not read.server.is_local
    assert read.hooks.before_request == ("tests.acme.tools:refuse_spam",)


def test_aliases_share_values() -> None:
    read = parse(
        """
models:
  one: &openai {type: openai, model: a}
  two: *openai
agents: {default: {model: one}}
"""
    )

    assert read.models["one"].options == read.models["two"].options


def test_a_file_is_found_where_the_command_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.find(None, {}).path is None

    Path("rightseat.yaml").write_text("server: {port: 1}")
    assert config.find(None, {}).server.port == 1


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no file .*nowhere\.yaml\. `rightseat init` writes"):
        config.find(tmp_path / "nowhere.yaml", {})


def test_a_file_that_is_not_utf_8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "rightseat.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError, match="Cannot read"):
        config.read(tmp_path / "rightseat.yaml", {})


# The environment


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${NAME}", "world"),
        ("hello ${NAME}, ${NAME}!", "hello world, world!"),
        ("${MISSING:-nobody}", "nobody"),
        ("${EMPTY:-nobody}", "nobody"),
        ("${MISSING:-}", ""),
        ("$${NAME}", "${NAME}"),
        ("$NAME and $$", "$NAME and $$"),
    ],
)
def test_variables_stand_for_their_values(text: str, value: str) -> None:
    read = parse(f"agents: {{default: {{instructions: '{text}'}}}}", NAME="world", EMPTY="")

    assert options(read.agents["default"]).instructions == value


def test_a_number_may_come_from_the_environment() -> None:
    assert parse("server: {port: '${PORT}'}", PORT="8080").server.port == 8080


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${KEY}", "1:34: the environment variable KEY is not set. Set it, or write ${KEY:-default}."),
        ("${EMPTY}", "1:34: the environment variable EMPTY is empty. Set it, or write ${EMPTY:-default}."),
        ("${a b}", "1:34: ${a b} does not name a variable. Write ${NAME}, or $${ for a plain ${."),
    ],
)
def test_a_variable_without_a_value_is_a_problem_at_its_place(text: str, said: str) -> None:
    assert problems(f"agents: {{default: {{instructions: '{text}'}}}}", EMPTY="") == [said]


def test_a_wrong_value_from_the_environment_is_shown_as_it_is_written_and_never_as_it_is() -> None:
    (problem,) = problems("server: {port: '${SECRET}'}", SECRET="hunter2")

    assert "hunter2" not in problem
    assert problem.endswith("not '${SECRET}'.")


# What is wrong with it


def test_an_unknown_key_is_reported_with_its_place_and_the_nearest_key() -> None:
    assert problems("models:\n  default:\n    type: scripted\n    chunk_dely: 1\n") == [
        "4:5: models.default.chunk_dely: unknown key. Did you mean 'chunk_delay'? Known: chunk_delay."
    ]
    assert problems("sever: {port: 1}")[0].startswith("1:1: sever: unknown key. Did you mean 'server'? Known: access")


def test_a_nested_unknown_key_is_reported_with_the_keys_of_its_place() -> None:
    assert problems("models: {default: {type: tests.acme.models, limits: {token: 1}}}") == [
        "1:54: models.default.limits.token: unknown key. Did you mean 'tokens'? Known: tokens."
    ]


def test_a_missing_key_is_reported_at_its_parent() -> None:
    assert problems("models:\n  default: {type: openai}\n") == ["2:3: models.default.model is missing."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server: {port: 70000}", "1:16: server.port: should be less than or equal to 65535, not 70000."),
        (
            "server: {port: many}",
            "1:16: server.port: should be a valid integer, unable to parse string as an integer, not 'many'.",
        ),
        ("server: {port: [1]}", "1:16: server.port: should be a valid integer, not a list."),
        ("server: {origins: x}", "1:19: server.origins: should be a valid list, not text."),
        ("server: [1]", "1:9: server: should be a valid mapping, not a list."),
        ("models: [1]", "1:9: models: should be a valid mapping, not a list."),
        ("agents: {default: loop}", "1:10: agents.default should be a mapping like {type: …}."),
        (
            "models: {default: {model: m}}",
            f"1:10: models.default.type is missing. {KNOWN}",
        ),
        (
            "models: {default: {type: 3}}",
            f"1:10: models.default.type is missing. {KNOWN}",
        ),
        (
            "models: {default: {type: opanai}}",
            "1:20: models.default.type: There is no model of type 'opanai'. Did you mean 'openai'? "
            "Known: anthropic, completion, empty, fallback, google, langchain, openai, scripted.",
        ),
        (
            "models: {default: {type: json.decoder}}",
            "1:20: models.default.type: The module 'json.decoder' is not a part: it has no `Options`.",
        ),
        (
            "models: {default: {type: .groq}}",
            "1:20: models.default.type: The model '.groq' cannot be found: '.groq' is not the name of a module.",
        ),
        (
            "agents: {default: {model: defualt}}",
            "1:27: agents.default.model: no model is named 'defualt'. Did you mean 'default'? Configured: default.",
        ),
        (
            "models: {one: {type: scripted}}\nagents: {default: {}}",
            "2:10: agents.default.model: no model is named 'default'. Configured: one.",
        ),
        (
            "faces: [{type: tests.acme.faces, agents: [default, defalt]}]",
            "1:52: faces[0].agents[1]: no agent is named 'defalt'. Did you mean 'default'? Configured: default.",
        ),
        (
            "agents: {default: {tools: ['tests.acme.tools:bothe']}}",
            "1:28: agents.default.tools[0]: The module 'tests.acme.tools' has no 'bothe'. Did you mean 'both'?",
        ),
        (
            "hooks: {on_error: ['nowhere:log']}",
            "1:20: hooks.on_error[0]: 'nowhere:log' cannot be found: there is no module 'nowhere'. "
            "It should be beside the configuration, or installed.",
        ),
        (
            "agents: {default: {type: langgraph}}",
            "1:19: agents.default: set either `url`, for a graph on a server, or `graph`, for one in this process.",
        ),
        (
            "toolboxes: {docs: {type: mcp}}",
            "1:19: toolboxes.docs: should have `url`, `command` or `client_servers`.",
        ),
        (
            "models:\n\tdefault: {}",
            "2:1: this is not YAML: while scanning for the next token found character that cannot start any token. "
            "Indent with spaces: there is a tab.",
        ),
        (
            "[1, 2]",
            "1:1: the file should be a mapping with keys like models, agents, faces.",
        ),
        ("a: &a\n  b: 1\na: 2", "3:1: the key 'a' is given twice; the first is on line 1."),
        ("? [a]\n: 1", "1:3: a key must be a plain scalar."),
        (
            "server: {host: !!python/name:os.system x}",
            "1:16: the tag 'tag:yaml.org,2002:python/name:os.system' is not supported.",
        ),
    ],
)
def test_a_problem_has_its_place_and_the_cure(text: str, said: str) -> None:
    assert said in problems(text)


@pytest.mark.parametrize("origin", ["http://localhost:3000/", "localhost:3000", "http://a.test/path", "null", ""])
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    (problem,) = problems(f"server: {{origins: ['{origin}']}}")

    assert "should be like http://localhost:3000, without a path or a trailing slash" in problem


def test_all_problems_are_reported_together_in_the_order_of_the_file() -> None:
    found = problems(
        """
models:
  default: {type: openai, modle: m, api_key: "${NOPE}"}
agents:
  default: {model: other, max_turns: 0}
server: {prot: 1}
"""
    )

    assert [line.split(":")[0] for line in found] == ["3", "3", "3", "5", "5", "6"]


def test_two_problems_of_one_place_are_both_reported() -> None:
    assert problems("models: {default: {type: tests.acme.twice}}") == [
        "1:10: models.default.one is missing.",
        "1:10: models.default.two is missing.",
    ]


def test_of_several_models_one_must_be_the_default() -> None:
    (problem,) = problems("models: {one: {type: scripted}, two: {type: scripted}}")

    assert problem.endswith("agents.default.model: no model is named 'default'. Configured: one, two.")


def test_a_wrong_section_does_not_make_others_wrong() -> None:
    assert problems("models: 3\nagents: {default: {model: mine}}") == [
        "1:9: models: should be a valid mapping, not a number."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "models: {default: {type: tests.acme.models, secret: hunter2}}",
        "models: {default: {type: tests.acme.models, secret: 12345678901234567890}}",
        "models: {default: {type: tests.acme.models, secret: [hunter2]}}",
    ],
)
def test_a_secret_is_never_part_of_a_complaint(text: str) -> None:
    (problem,) = problems(text)

    assert "hunter2" not in problem
    assert "1234" not in problem


# What is no configuration at all


def test_invalid_yaml_is_reported_with_its_place() -> None:
    assert problems("models:\n  - a\n b: 1\n")[0].startswith("3:2: this is not YAML: ")


def test_a_variable_that_needs_quotes_is_reported() -> None:
    (problem,) = problems("models: {default: {api_key: ${KEY}}}")

    assert problem.endswith("A value with ${…} inside { } or [ ] needs quotes.")


def test_a_billion_laughs_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert "aliases expand this to more than 20,000 values" in problems("\n".join(lines))[0]


def test_a_value_inside_itself_is_refused() -> None:
    assert "aliases expand this to more than" in problems("a: &a [*a]")[0]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_values_nested_too_deep_are_refused(opening: str) -> None:
    assert "nested deeper than 40 levels" in problems(opening * 100_000)[0]


def test_a_file_that_is_too_long_is_refused() -> None:
    assert "longer than 1,000,000 characters" in problems("#" * (MAX_CHARS + 1))[0]


# The schema for editors


@pytest.mark.parametrize(
    "text",
    [
        "",
        "models: {default: {type: openai, model: m, temperature: 0}}",
        "models: {default: {type: acme.groq, anything: 1}}",
        "agents: {default: {}, other: {type: loop, max_turns: 3}}",
        "server: {port: '${PORT}', docs: '${DOCS:-false}', origins: null}",
        "faces: [{type: copilotkit, agent: null}]",
        "log: {type: memory, max_finished_runs: 3}\nthreads: {}\nengine: {type: local}",
    ],
)
def test_the_schema_takes_what_is_right(text: str) -> None:
    jsonschema_rs.validate(json.loads(read_schema()), yaml.safe_load(text))


@pytest.mark.parametrize(
    "text",
    [
        "sever: {}",
        "models: {default: {type: openai}}",
        "models: {default: {type: openai, model: m, modle: n}}",
        "models: {default: {model: m}}",
        "agents: {default: {max_turns: 0}}",
        "server: {port: 70000}",
        "server: {port: many}",
        "faces: [{}]",
    ],
)
def test_the_schema_refuses_what_is_wrong(text: str) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(json.loads(read_schema()), yaml.safe_load(text))


@pytest.mark.parametrize(
    "url",
    ["copilot.example.com", "ftp://a.test", "https://", "https://a.test?x=1", "https://a.test/#x", "https://me@a.test",
     "https://a.test:port", "https://[::1", "https://a test"],
)  # fmt: skip
def test_a_public_url_is_one_that_a_client_can_call(url: str) -> None:
    (problem,) = problems(f"server: {{public_url: '{url}'}}")

    assert "should be like https://copilot.example.com, perhaps with a path" in problem


@pytest.mark.parametrize("proxy", ["proxy.internal", "10.0.0.1/8", "10.0.0", ""])
def test_a_trusted_proxy_is_an_address_or_a_network(proxy: str) -> None:
    (problem,) = problems(f"server: {{trusted_proxies: ['{proxy}']}}")

    assert "should be an address or a network like 10.0.0.0/8" in problem


@pytest.mark.parametrize(("url", "is_local"), [("http://localhost:9000", True), ("https://copilot.example.com", False)])
def test_a_server_with_a_public_url_is_not_local(url: str, is_local: bool) -> None:
    server = parse(f"server: {{public_url: '{url}/', trusted_proxies: [10.0.0.0/8, '::1', '*']}}").server

    assert server.public_url == url
    assert server.is_local is is_local
    assert server.trusted_proxies == ("10.0.0.0/8", "::1", "*")
