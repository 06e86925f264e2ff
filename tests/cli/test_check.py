"""`rightseat check`"""

import json
import re
import shutil
from pathlib import Path

import pytest

from rightseat.config.schema import read_schema
from tests.cli.conftest import Run

EXAMPLES = Path(__file__).parent.parent.parent / "examples/plugins"


def test_check_lists_what_a_file_serves(run: Run) -> None:
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
        "rightseat.yaml: valid.\n"
        "  console  http://127.0.0.1:9000/console/\n"
        "  serves   http://127.0.0.1:9000/copilotkit  copilotkit\n"
        "  serves   http://127.0.0.1:9000/v1  openai\n"
        "  serves   http://127.0.0.1:9000/operator  operator\n"
        "  agent    helper  loop, model fast\n"
        "  model    fast  openai gpt-4o-mini at https://api.openai.com/v1\n"
        "  threads  sql, in .rightseat/rightseat.db\n"
        "  origins  https://shop.test\n"
    )


def test_check_names_the_sources_of_tools(run: Run) -> None:
    Path("rightseat.yaml").write_text("toolboxes: {docs: {type: mcp, url: 'http://127.0.0.1:1/mcp'}}")

    assert "  tools    docs  mcp\n" in run("check").stdout


def test_check_names_durable_agents_log_and_engine(run: Run) -> None:
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
def test_check_warns_of_a_model_without_a_key_for_its_provider(run: Run, model: str) -> None:
    Path("rightseat.yaml").write_text(f"models: {{m: {model}}}")
    bare = run("check")
    Path("rightseat.yaml").write_text(f"models: {{m: {model[:-1]}, base_url: 'http://127.0.0.1:1/v1'}}}}")
    relayed = run("check")

    assert bare.exit_code == 0
    assert "Warning: models.m: there is no `api_key`, and " in bare.stderr
    assert "api_key" not in relayed.stderr


def test_check_warns_of_a_model_whose_answers_a_limit_cuts(run: Run) -> None:
    text = """
models: {fast: {type: openai, model: gpt-4o-mini, api_key: sk-canary, max_tokens: 8000}}
limits: [{name: all, subject: everyone, tokens_per_day: 1_000_000}]
"""
    Path("rightseat.yaml").write_text(text)
    cut = run("check")
    Path("rightseat.yaml").write_text(f"{text}limits_reserve: {{fast: 8000}}\n")
    reserved = run("check")
    Path("rightseat.yaml").write_text(f"{text}limits_reserve: {{fats: 8000}}\n")
    unknown = run("check")

    assert (cut.exit_code, reserved.exit_code, reserved.stderr) == (0, 0, "")
    assert cut.stderr == (
        "Warning: models.fast: `max_tokens` is 8,000, but where a limit of tokens or cost applies, answers end at "
        "4,096 tokens unless the request has `max_tokens`. Set `limits_reserve: {fast: 8000}`.\n"
    )
    assert unknown.exit_code == 1
    assert "limits_reserve.fats: no model is named 'fats'. Did you mean 'fast'?" in unknown.output


def test_check_warns_of_a_price_that_belongs_to_no_model(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        """
models: {fast: {type: openai, model: gpt-4o-mini, api_key: sk-canary}}
prices:
  fast: {input: 0.15, output: 0.6}
  gpt-4o-mini: {input: 0.15, cached_input: 0.075, output: 0.6}
  gpt-4o-mimi: {input: 1, output: 2}
"""
    )

    result = run("check")

    assert result.exit_code == 0
    assert result.stderr == (
        "Warning: prices.gpt-4o-mimi: no model has this name, under `models` or at its provider. Did you mean "
        "'gpt-4o-mini'? It is not used.\n"
    )


def test_check_reports_a_price_that_is_none(run: Run) -> None:
    Path("rightseat.yaml").write_text("prices: {fast: {input: -1, outputs: 2}}\n")

    result = run("check")

    assert result.exit_code == 1
    assert "prices.fast.input" in result.output
    assert "prices.fast.outputs" in result.output
    assert "prices.fast.output is missing" in result.output


def test_check_lists_the_guards(run: Run) -> None:
    Path("rightseat.yaml").write_text("guards: [{type: patterns, phrases: [x], applies_to: [answer, call]}]")

    assert "  guard    patterns, looks at each answer, call\n" in run("check").stdout


def test_check_reports_a_model_whose_name_an_agent_has(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        "models: {fast: {type: scripted}, slow: {type: scripted}}\nagents: {fast: {model: fast}, slow: {model: fast}}\n"
    )

    said = run("check").stdout

    assert said.count("at /v1 that name is the agent's") == 1
    assert "slow  built-in demo model, configure a real one in rightseat.yaml; at /v1 that name is the agent's" in said


def test_check_without_a_file_lists_the_defaults(run: Run) -> None:
    result = run("check")

    assert "No file: valid." in result.stdout
    assert "no key: built-in demo model, set OPENAI_API_KEY or run `rightseat init`" in result.stdout


def test_check_reports_every_error_of_a_file(run: Run) -> None:
    Path("my.yaml").write_text("models: {default: {type: opanai}}\nserver: {prot: 1}\n")

    result = run("check", "my.yaml")

    assert result.exit_code == 1
    assert [line.split(": ")[:2] for line in result.stderr.splitlines()] == [
        ["Error", "my.yaml:1:20"],
        ["my.yaml:2:10", "server.prot"],
    ]
    assert result.stdout == ""


def test_a_missing_file_is_reported(run: Run) -> None:
    result = run("check", "nowhere.yaml")

    assert result.exit_code == 1
    assert result.stderr == "Error: There is no file nowhere.yaml. `rightseat init` writes a rightseat.yaml.\n"


def test_tools_can_be_in_modules_beside_the_file(run: Run, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "beside_tools.py").write_text("async def hello() -> str: ...\n")
    (folder / "there" / "rightseat.yaml").write_text("agents: {default: {tools: ['beside_tools:hello']}}")

    assert run("check", "there/rightseat.yaml").exit_code == 0


def test_check_reports_errors_of_building_too(run: Run) -> None:
    Path("rightseat.yaml").write_text("agents: {default: {tools: ['tests.acme.tools:number']}}")

    result = run("check")

    assert result.exit_code == 1
    assert "is not a tool, a list of tools or a toolbox" in result.stderr


def test_check_warns_of_a_public_address(run: Run) -> None:
    Path("rightseat.yaml").write_text("server: {host: 0.0.0.0}")

    result = run("check")

    assert result.exit_code == 0
    assert "no keys are configured: anyone could use your models" in result.stderr
    assert "none: no web page may call; list those that may under server.origins" in result.stdout


def test_the_schema_is_printed(run: Run) -> None:
    assert run("check", "--schema").stdout == read_schema()


def test_a_failing_tool_module_is_reported_with_its_key_and_its_line(run: Run) -> None:
    Path("broken_tools.py").write_text("1 / 0")
    Path("rightseat.yaml").write_text("agents: {default: {tools: ['broken_tools:x']}}")

    result = run("check")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: rightseat.yaml:1:28: agents.default.tools[0]: 'broken_tools:x' cannot be ")
    assert result.stderr.endswith("broken_tools.py:1: ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ("{default: {type: fallback, models: [default]}}", "'default' is this model itself."),
        (
            "{default: {type: fallback, models: [other]}, other: {type: fallback, models: [a]}, a: {type: scripted}}",
            "'other' is composed of other models and is defined below it.",
        ),
    ],
)
def test_check_reports_a_model_that_contains_itself(run: Run, models: str, said: str) -> None:
    Path("rightseat.yaml").write_text(f"models: {models}")

    assert run("check").stderr == f"Error: models.default.models: {said} Name models above this one.\n"


def test_check_warns_of_plugins_that_are_broken_or_lack_a_secret_or_an_address(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES / "weather", "plugins/weather")
    shutil.copytree(EXAMPLES / "sales_insight", "plugins/broken")
    Path("plugins/broken/plugin.json").write_text("{")
    Path("rightseat.yaml").write_text("toolboxes: {ops: {type: plugins, folders: [plugins, plugns]}}")
    monkeypatch.delenv("RIGHTSEAT_SECRET_WEATHER_KEY", raising=False)

    result = run("check")

    assert result.exit_code == 0
    assert result.stdout.startswith("rightseat.yaml: errors 0, warnings 5.\n")
    assert [line.removeprefix("Warning: toolboxes.ops: ") for line in result.stderr.splitlines()] == [
        "The plugin folder plugns does not exist.",
        "The plugin broken has errors: plugin.json:1:2: E102 this is not valid JSON: expected a key in double "
        "quotes. (JSON has no comments and no comma after the last value); see `rightseat plugin check`.",
        "The plugin weather needs the secret WEATHER_KEY: set RIGHTSEAT_SECRET_WEATHER_KEY.",
        "The plugin 'weather' may not send the secret 'WEATHER_KEY' to 127.0.0.1:39182: it is not bound to them. An "
        "operator can add to `secrets` of the toolbox: "
        '- {name: WEATHER_KEY, plugins: [weather], hosts: ["127.0.0.1:39182"]}',
        "The plugin weather needs the private address 127.0.0.1:39182, which is blocked. Allow it in this toolbox: "
        '`allow_private: {weather: ["127.0.0.1:39182"]}`. (Its plugin.json asks: `network.allow_private`.)',
    ]


def test_the_entry_that_check_prints_allows_an_address_that_plugin_json_does_not_declare(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES / "weather", "plugins/weather")
    about = json.loads(Path("plugins/weather/plugin.json").read_text())
    del about["network"]
    Path("plugins/weather/plugin.json").write_text(json.dumps(about))
    monkeypatch.setenv("RIGHTSEAT_SECRET_WEATHER_KEY", "a long secret")
    toolbox = "type: plugins, folders: [plugins], secrets: [{name: WEATHER_KEY, plugins: [weather]}]"
    Path("rightseat.yaml").write_text(f"toolboxes: {{ops: {{{toolbox}}}}}")

    warning = run("check").stderr
    entry = re.search(r"Allow it in this toolbox: `(.*?)`", warning)
    assert entry is not None
    Path("rightseat.yaml").write_text(f"toolboxes: {{ops: {{{toolbox}, {entry[1]}}}}}")

    assert "network.allow_private" in warning
    assert run("check").stderr == ""


def test_check_refuses_an_allowed_address_that_is_not_one_host_at_one_port(run: Run) -> None:
    Path("plugins").mkdir()
    Path("rightseat.yaml").write_text(
        "toolboxes: {ops: {type: plugins, folders: [plugins], allow_private: {weather: [10.0.0.0/8]}}}"
    )

    assert "'10.0.0.0/8' is not host:port: write one host at one port" in run("check").stderr


def test_check_does_not_warn_of_complete_plugins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / "weather", "plugins/weather")
    allowed = 'allow_private: {weather: ["127.0.0.1:39182"]}, secrets: [{name: WEATHER_KEY, plugins: [weather]}]'
    Path("rightseat.yaml").write_text(f"toolboxes: {{ops: {{type: plugins, folders: [plugins], {allowed}}}}}")
    monkeypatch.setenv("RIGHTSEAT_SECRET_WEATHER_KEY", "a long secret")

    result = run("check")

    assert result.stdout.startswith("rightseat.yaml: valid.\n")
    assert result.stderr == ""


def test_check_takes_the_config_option_of_other_verbs(run: Run) -> None:
    Path("other.yaml").write_text("models: {default: {type: scripted}}")

    assert run("check", "-c", "other.yaml").stdout.startswith("other.yaml: valid.\n")
    assert run("serve", "nowhere.yaml").stderr.startswith("Error: There is no file nowhere.yaml.")


def test_check_lists_the_models_of_a_fallback(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        "models: {default: {type: fallback, models: [a, b]}, a: {type: scripted}, b: {type: scripted}}"
    )

    assert "  model    default  fallback a, then b\n" in run("check").stdout


def test_check_lists_the_sandbox_layers_where_plugin_code_is_allowed(run: Run) -> None:
    Path("plugins").mkdir()
    Path("rightseat.yaml").write_text("toolboxes: {ops: {type: plugins, folders: [plugins]}}")
    without = run("check").stdout
    Path("rightseat.yaml").write_text(
        f"toolboxes: {{ops: {{type: plugins, folders: [plugins], allowed_lib_digests: [{'a' * 64}]}}}}"
    )

    said = run("check").stdout

    assert "sandbox" not in without
    assert "  ops:\n    sandbox of the plugins' code:\n" in said
    for layer in ("seccomp", "landlock", "user", "files", "network", "limits", "disk"):
        assert f"\n      {layer:8} " in said


def test_check_warns_only_of_deprecated_keys_that_the_file_sets(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        """
models:
  main: {type: tests.acme.deprecated, old_name: x, limits: {words: 3}}
  other: {type: tests.acme.deprecated, name: x, limits: {tokens: 3}}
agents: {helper: {model: main}}
"""
    )

    result = run("check")

    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "deprecated" in line] == [
        "Warning: models.main.limits.words is deprecated: use `tokens` instead.",
        "Warning: models.main.old_name is deprecated: use `name` instead.",
    ]


def test_check_shows_each_limit_in_a_line(run: Run) -> None:
    Path("rightseat.yaml").write_text(
        """
models: {big: {type: scripted}, small: {type: scripted}}
agents: {support: {model: big}}
access: {required: true}
prices: {big: {input: 1, output: 2}, small: {input: 1, output: 2}}
currency: EUR
limits:
  - {name: free, subject: user, match: "guest-*", concurrent_runs: 1, requests_per_minute: 20}
  - {name: burst, subject: everyone, requests: {most: 5, per: 10s}, on_exceed: queue}
  - {name: month, subject: key, agents: [support], cost_per_month: 50, on_exceed: downgrade, downgrade: small}
"""
    )

    result = run("check")

    assert [line for line in result.stdout.splitlines() if line.startswith("  limit ")] == [
        "  limit    free  each user guest-*: 1 concurrent run, 20 requests per minute",
        "  limit    burst  everyone: 5 requests in 10s; others wait up to 30 s",
        "  limit    month  each key at support: 50 EUR per month; then the model small",
    ]


def test_check_warns_of_a_webhook_that_is_never_called_and_of_transcriptions_without_a_price(run: Run) -> None:
    text = """
models: {big: {type: scripted}}
prices: {big: {input: 1, output: 2}, hear-2: {input: 1, output: 2}}
faces:
  - {type: openai, transcription: {base_url: "http://127.0.0.1:1", model: hear-1}}
  - {type: copilotkit, transcription: {base_url: "http://127.0.0.1:1", model: hear-2}}
limits_webhook: {url: "http://127.0.0.1:1/canary"}
"""
    Path("rightseat.yaml").write_text(f"{text}limits: [{{name: a, subject: everyone, requests_per_day: 5}}]")
    uncalled = run("check")
    Path("rightseat.yaml").write_text(f"{text}limits: [{{name: a, subject: everyone, cost_per_day: 5}}]")
    unpriced = run("check")

    assert uncalled.stderr == "Warning: limits_webhook: no limit caps tokens or cost, so nothing is sent to it.\n"
    assert unpriced.stderr == (
        "Warning: limits: transcriptions by 'hear-1' cost nothing, because it has no price. Add it under `prices`.\n"
    )
