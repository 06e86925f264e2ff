"""`rightseat check`"""

import json
import shutil
from pathlib import Path

import pytest

from rightseat.config import schema
from tests.cli.conftest import Run

EXAMPLES = Path(__file__).parent.parent.parent / "examples/plugins"


def test_it_says_what_a_file_would_serve(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        """
models: {fast: {type: openai, model: gpt-4o-mini, api_key: sk-canary}}
agents: {helper: {model: fast}}
server: {port: 9000, origins: ["https://shop.test"]}
"""
    )

    result = run("check")

    assert result.exit_code == 0
    assert result.stdout == (
        "rightseat.yaml: nothing is wrong.\n"
        "  serves   http://127.0.0.1:9000/copilotkit  copilotkit\n"
        "  serves   http://127.0.0.1:9000/v1  openai\n"
        "  agent    helper  loop, model fast\n"
        "  model    fast  openai gpt-4o-mini at https://api.openai.com/v1\n"
        "  threads  sql, in .rightseat/rightseat.db\n"
        "  origins  https://shop.test\n"
    )


def test_it_says_where_tools_come_from(run: Run) -> None:
    Path("rightseat.yaml").write_text("toolboxes: {docs: {type: mcp, url: 'http://127.0.0.1:1/mcp'}}")

    assert "  tools    docs  mcp\n" in run("check").stdout


def test_it_says_which_runs_go_on_and_who_sees_to_it(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        """
agents: {helper: {durable: true}}
engine: {type: dbos}
log: {type: redis, url: "redis://:canary@127.0.0.1:1/0"}
"""
    )

    said = run("check").stdout

    assert "  agent    helper  loop, model default, durable\n" in said
    assert "  log      redis, on a server\n  engine   dbos, in .rightseat/steps.db\n" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    "model",
    [
        "{type: openai, model: m}",
        "{type: anthropic, model: m}",
        "{type: google, model: m}",
    ],
)
def test_a_model_that_has_no_key_for_its_provider_is_warned_of(run: Run, model: str) -> None:
    Path("rightseat.yaml").write_text(f"models: {{m: {model}}}")
    bare = run("check")
    Path("rightseat.yaml").write_text(f"models: {{m: {model[:-1]}, base_url: 'http://127.0.0.1:1/v1'}}}}")
    relayed = run("check")

    assert bare.exit_code == 0
    assert "Warning: models.m: there is no `api_key`, and " in bare.stderr
    assert "api_key" not in relayed.stderr


def test_it_says_which_guards_there_are(run: Run) -> None:
    Path("rightseat.yaml").write_text("guards: [{type: patterns, phrases: [x], on: [answer, call]}]")

    assert "  guard    patterns, looks at each answer, call\n" in run("check").stdout


def test_a_model_that_cannot_be_asked_by_its_name_is_told(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        "models: {fast: {type: scripted}, slow: {type: scripted}}\nagents: {fast: {model: fast}, slow: {model: fast}}\n"
    )

    said = run("check").stdout

    assert said.count("at /v1 that name is the agent's") == 1
    assert "slow  built-in scripted model, name a real one in rightseat.yaml; at /v1 that name is the agent's" in said


def test_without_a_file_it_says_what_is_served_without_one(run: Run) -> None:
    result = run("check")

    assert "No file: nothing is wrong." in result.stdout
    assert "no key: built-in scripted model, set OPENAI_API_KEY or run `rightseat init`" in result.stdout


def test_all_that_is_wrong_is_said(run: Run) -> None:
    Path("my.yaml").write_text("models: {default: {type: opanai}}\nserver: {prot: 1}\n")

    result = run("check", "my.yaml")

    assert result.exit_code == 1
    assert [line.split(": ")[:2] for line in result.stderr.splitlines()] == [
        ["Error", "my.yaml:1:20"],
        ["my.yaml:2:10", "server.prot"],
    ]
    assert result.stdout == ""


def test_a_file_that_is_not_there_is_told(run: Run) -> None:
    result = run("check", "nowhere.yaml")

    assert result.exit_code == 1
    assert result.stderr == "Error: There is no file nowhere.yaml. `rightseat init` writes a rightseat.yaml.\n"


def test_modules_beside_the_file_can_be_named(run: Run, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "beside_tools.py").write_text("async def hello() -> str: ...\n")
    (folder / "there" / "rightseat.yaml").write_text("agents: {default: {tools: ['beside_tools:hello']}}")

    assert run("check", "there/rightseat.yaml").exit_code == 0


def test_what_only_shows_when_it_is_built_is_told_too(run: Run) -> None:
    Path("rightseat.yaml").write_text("agents: {default: {tools: ['tests.acme.tools:number']}}")

    result = run("check")

    assert result.exit_code == 1
    assert "is not a tool, a list of tools or a toolbox" in result.stderr


def test_an_address_that_others_reach_is_warned_of(run: Run) -> None:
    Path("rightseat.yaml").write_text("server: {host: 0.0.0.0}")

    result = run("check")

    assert result.exit_code == 0
    assert "there are no keys: anyone could use your models" in result.stderr
    assert "none: no web page may call; list those that may under server.origins" in result.stdout


def test_the_schema_is_printed(run: Run) -> None:
    assert json.loads(run("check", "--schema").stdout) == schema.whole()


def test_a_module_of_tools_that_fails_is_told_where_it_is_named_and_where_it_fails(run: Run) -> None:
    Path("broken_tools.py").write_text("1 / 0")
    Path("rightseat.yaml").write_text("agents: {default: {tools: ['broken_tools:x']}}")

    result = run("check")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: rightseat.yaml:1:28: agents.default.tools[0]: 'broken_tools:x' cannot be ")
    assert result.stderr.endswith("broken_tools.py:1: ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ("{default: {type: fallback, models: [default]}}", "'default' is this very model."),
        (
            "{default: {type: fallback, models: [other]}, other: {type: fallback, models: [a]}, a: {type: scripted}}",
            "'other' is made of other models and stands below it.",
        ),
    ],
)
def test_a_model_made_of_itself_is_told(run: Run, models: str, said: str) -> None:
    Path("rightseat.yaml").write_text(f"models: {models}")

    assert run("check").stderr == f"Error: models.default.models: {said} Name models that stand above it.\n"


def test_plugins_that_are_broken_or_lack_something_are_warned_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / "weather", "plugins/weather")
    shutil.copytree(EXAMPLES / "sales_insight", "plugins/broken")
    Path("plugins/broken/plugin.json").write_text("{")
    Path("rightseat.yaml").write_text("toolboxes: {ops: {type: plugins, folders: [plugins, plugns]}}")
    monkeypatch.delenv("RIGHTSEAT_SECRET_WEATHER_KEY", raising=False)

    result = run("check")

    assert result.exit_code == 0
    assert result.stdout.startswith("rightseat.yaml: errors 0, warnings 4.\n")
    assert [line.removeprefix("Warning: toolboxes.ops: ") for line in result.stderr.splitlines()] == [
        "There is no folder plugns; no plugins are loaded from it.",
        "The plugin broken has errors: plugin.json:1:2: E102 this is not JSON: a key in double quotes should stand "
        "here. (JSON has no comments and no comma after the last value); see `rightseat plugin check`.",
        "The plugin weather needs the secret WEATHER_KEY: set RIGHTSEAT_SECRET_WEATHER_KEY.",
        "The plugin weather asks for 127.0.0.1:39182, which is not public: confirm it in allow_private.",
    ]


def test_plugins_that_have_what_they_need_are_not_warned_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / "weather", "plugins/weather")
    allowed = 'allow_private: {weather: ["127.0.0.1:39182"]}'
    Path("rightseat.yaml").write_text(f"toolboxes: {{ops: {{type: plugins, folders: [plugins], {allowed}}}}}")
    monkeypatch.setenv("RIGHTSEAT_SECRET_WEATHER_KEY", "a long secret")

    result = run("check")

    assert result.stdout.startswith("rightseat.yaml: nothing is wrong.\n")
    assert result.stderr == ""


def test_the_file_can_be_named_as_for_other_verbs(run: Run) -> None:
    Path("other.yaml").write_text("models: {default: {type: scripted}}")

    assert run("check", "-c", "other.yaml").stdout.startswith("other.yaml: nothing is wrong.\n")
    assert run("serve", "nowhere.yaml").stderr.startswith("Error: There is no file nowhere.yaml.")


def test_a_fallback_says_which_models_it_asks(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        "models: {default: {type: fallback, models: [a, b]}, a: {type: scripted}, b: {type: scripted}}"
    )

    assert "  model    default  fallback a, then b\n" in run("check").stdout


def test_where_code_of_plugins_is_allowed_it_says_which_layers_of_its_sandbox_hold(run: Run) -> None:
    Path("plugins").mkdir()
    Path("rightseat.yaml").write_text("toolboxes: {ops: {type: plugins, folders: [plugins]}}")
    without = run("check").stdout
    Path("rightseat.yaml").write_text(f"toolboxes: {{ops: {{type: plugins, folders: [plugins], lib: [{'a' * 64}]}}}}")

    said = run("check").stdout

    assert "sandbox" not in without
    assert "  ops:\n    sandbox of the plugins' code:\n" in said
    for layer in ("seccomp", "landlock", "user", "files", "network", "limits", "disk"):
        assert f"\n      {layer:8} " in said
