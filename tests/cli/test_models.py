"""What the command does with models on this machine."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.conditions import is_listening, wait_until
from tests.models.completion.backends.test_process import STAND_IN, is_running
from tests.models.completion.test_gguf import WHOLE, head

HERMES = "{% for tool in tools %}<tool_call>{% endfor %}"
PRINTED_ADDRESS = "http://localhost:8080"
"""What is replaced in the commands of `curl`, which are otherwise as they were printed."""
CALL_OF_FORECAST = (
    '<tool_call>\n{"name": "get_n_day_weather_forecast", "arguments": {"location": "San Francisco, CA", '
    '"format": "celsius", "num_days": 4}}\n</tool_call>'
)
CALL_OF_PYTHON = '<tool_call>\n{"name": "eval_python", "arguments": {"expression": "15315*3/55"}}\n</tool_call>'


@pytest.fixture
def model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GGUF file, and a `llama-server` on the PATH that stands in for the real one."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "llama-server").write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    (programs / "llama-server").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    file = folder / "small.gguf"
    file.write_bytes(head(WHOLE | {"tokenizer.chat_template": HERMES}))
    return file


def test_a_configuration_of_init_for_a_gguf_file_passes_the_check(run: Run, model: Path) -> None:
    written = run("init", "--provider", "gguf", "--model", "small.gguf")

    assert "Wrote rightseat.yaml: the file small.gguf." in written.stdout
    assert "There is no file" not in written.stdout
    checked = run("check")
    assert checked.stdout.startswith("rightseat.yaml: valid.\n")


def test_serve_needs_only_a_gguf_file(model: Path) -> None:
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0", "--model", model.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line.rstrip())
            if line.lstrip().startswith("curl"):
                break
        for line in process.stderr:
            if "is loaded" in line:
                break
        backend = int(subprocess.check_output(["pgrep", "-P", str(process.pid)], text=True).split()[0])
        (url,) = re.findall(r"curl (http://\S+)", said[-1])
        answer = httpx2.post(url, json={"model": "default", "messages": [{"role": "user", "content": "Hello"}]})
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    assert answer.json()["choices"][0]["message"]["content"] == "!"
    assert f"  model    default  completion with {model}" in said
    assert [line.split()[2] for line in said if "serves" in line] == ["copilotkit", "openai", "operator"]
    assert not is_running(backend)


@contextmanager
def serving(*arguments: str, loads: bool = True) -> Iterator[str]:
    """The address of a `rightseat serve`, whose model is loaded if it `loads` one."""
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            url = next(line for line in process.stdout if "serves" in line).split()[1].removesuffix("/copilotkit")
            if loads:
                next(line for line in process.stderr if "is loaded" in line)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def test_a_second_file_is_served_for_embeddings(model: Path) -> None:
    with serving("--model", model.name, "--embeddings", model.name) as url, httpx2.Client(base_url=url) as client:
        wait_until(lambda: client.post("/v1/embeddings", json={"input": "a"}).status_code == 200)
        made = client.post("/v1/embeddings", json={"model": "default", "input": ["four", "three"]}).json()

    assert [one["embedding"][0] for one in made["data"]] == [4, 5]
    assert made["usage"]["prompt_tokens"] == 9


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--embeddings", "small.gguf"], "--embeddings needs --model or --endpoint"),
        (["--model", "small.gguf", "--embeddings", "none.gguf"], "There is no file none.gguf"),
        (["--endpoint", "http://127.0.0.1:1", "--embeddings", "ftp://x"], "--embeddings: "),
    ],
)
def test_an_option_for_embeddings_that_cannot_work_is_refused(
    run: Run, model: Path, arguments: list[str], problem: str
) -> None:
    said = run("serve", "--port", "0", *arguments)

    assert said.exit_code == 1
    assert problem in said.output


@pytest.mark.parametrize(
    ("sample", "spoken", "called"),
    [
        ("weather", CALL_OF_FORECAST, ["get_n_day_weather_forecast"]),
        ("arithmetic", CALL_OF_PYTHON, ["eval_python"]),
        ("life", "It is what you make of it.", []),
    ],
)
def test_the_documented_curl_commands_work_as_printed(model: Path, sample: str, spoken: str, called: list[str]) -> None:
    model.with_name("answer").write_text(spoken)
    command = (Path(__file__).parent / "curl" / f"{sample}.sh").read_text()
    with serving("--model", model.name) as url:
        assert command.count(PRINTED_ADDRESS) == 1
        said = subprocess.check_output(["sh", "-c", command.replace(PRINTED_ADDRESS, url)], text=True, timeout=60)

    body = json.loads(said)
    message = body["choices"][0]["message"]
    assert [call["function"]["name"] for call in message.get("tool_calls", ())] == called
    assert body["choices"][0]["finish_reason"] == ("tool_calls" if called else "stop")
    assert message["content"] == (None if called else spoken)
    assert len(body["warnings"]) == 1
    assert body["system_fingerprint"].startswith("fp_")


@contextmanager
def running_llama_server(model: Path) -> Iterator[str]:
    """The address of a server that stands in for one that runs already."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["-m", str(model), "--host", "127.0.0.1", "--port", str(port), "-np", "1"]
    with subprocess.Popen([sys.executable, str(STAND_IN), *arguments]) as process:
        try:
            wait_until(lambda: is_listening(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_serve_uses_a_llama_server_that_runs_already(model: Path) -> None:
    model.with_name("answer").write_text("Good morning.")
    with running_llama_server(model) as endpoint, serving("--endpoint", endpoint, loads=False) as url:
        answer = httpx2.post(f"{url}/v1/chat/completions", content=b'{"messages": [{"role": "user", "content": "Hi"}]}')

    assert answer.json()["choices"][0]["message"]["content"] == "Good morning."


FORM = {"content-type": "application/x-www-form-urlencoded"}
BROWSERS: list[dict[str, str]] = [
    {"origin": "http://localhost:3000"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "none"},
    {"cookie": "a=b"},
]


def test_a_body_without_a_json_content_type_is_accepted_only_from_non_browsers(model: Path) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode()
    with serving("--model", model.name) as url, httpx2.Client(base_url=url) as client:

        def post(headers: dict[str, str], path: str = "/v1/chat/completions", content: bytes = body) -> int:
            return client.post(path, content=content, headers=headers).status_code

        taken = [post(FORM), post({}), post({"content-type": f"{FORM['content-type']}; charset=utf-8"})]
        of_browsers = {post(kind | header) for kind in (FORM, {}) for header in BROWSERS}
        other_types = [post({"content-type": kind}) for kind in ("text/plain", "multipart/form-data; boundary=x")]
        not_json = post(FORM, content=b"messages=Hello")
        elsewhere = post(FORM, path="/copilotkit")

    assert taken == [200, 200, 200]
    assert of_browsers <= {403, 415}
    assert other_types == [415, 415]
    assert not_json == 400
    assert elsewhere == 415


def test_a_server_with_a_configuration_file_accepts_only_json_bodies(model: Path) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, backend: {{model: {model.name}}}}}}}")
    body = json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode()
    with serving() as url, httpx2.Client(base_url=url) as client:
        found = [client.post("/v1/chat/completions", content=body, headers=headers) for headers in (FORM, {})]

    assert [answer.status_code for answer in found] == [415, 415]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "none.gguf"], "There is no file none.gguf. --model expects a GGUF file."),
        (["--model", "small.gguf", "--config", "x.yaml"], "Use either --config or --model."),
        (["--endpoint", "localhost:1", "--config", "x.yaml"], "Use either --config or --endpoint."),
        (["--endpoint", "localhost:1", "--model", "small.gguf"], "Use either --model or --endpoint"),
        (["--endpoint", "localhost:1"], "--endpoint: the address should begin with http://"),
        (["--model", "small.gguf", "--host", "0.0.0.0"], "0.0.0.0 can be reached from other machines"),
    ],
)
def test_serve_reports_why_a_model_cannot_be_served(run: Run, model: Path, arguments: list[str], said: str) -> None:
    result = run("serve", *arguments)

    assert result.exit_code == 1
    assert said in result.stderr


def test_check_prints_the_chosen_style_and_the_reason(run: Run, model: Path) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, backend: {{model: {model.name}}}}}}}")

    result = run("check")

    assert result.exit_code == 0
    assert f"backend: a llama-server that rightseat starts, with {model.name}" in result.stdout
    assert "style: hermes, because its chat template contains '<tool_call>'" in result.stdout


def test_check_prints_the_style_of_the_template_for_tools(run: Run, model: Path) -> None:
    plain = {"tokenizer.chat_template": "{{ messages }}", "tokenizer.chat_template.tool_use": HERMES}
    model.write_bytes(head(WHOLE | plain))
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, backend: {{model: {model.name}}}}}}}")

    result = run("check")

    assert "style: hermes, because its chat template for tools contains '<tool_call>'" in result.stdout


def test_check_continues_when_a_backend_does_not_respond(run: Run) -> None:
    Path("rightseat.yaml").write_text('models: {default: {type: completion, backend: {url: "http://127.0.0.1:1"}}}')

    result = run("check")

    assert result.exit_code == 0
    assert "backend: llama-server at http://127.0.0.1:1" in result.stdout
    assert "style: not known yet. Cannot reach the model server: " in result.stdout


@pytest.mark.parametrize(
    ("backend", "missing"),
    [
        ("model: small.gguf, binary: nowhere", "models.default: nowhere is not an executable file"),
        ("model: none.gguf", "models.default: none.gguf cannot be read: No such file or directory."),
    ],
)
def test_check_fails_when_a_local_model_lacks_a_dependency(run: Run, model: Path, backend: str, missing: str) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, backend: {{{backend}}}}}}}")

    result = run("check")

    assert result.exit_code == 1
    assert missing in result.stderr
    assert "valid" not in result.stdout


def test_a_request_waits_until_the_model_is_loaded(run: Run, model: Path) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, backend: {{model: {model.name}}}}}}}")

    result = run("ask", "Hello")

    assert result.exit_code == 0
    assert result.stdout == "!\n"


PLAIN = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
RULES = "Be kind, and never say more than is asked.\n" * 40


def cached_tokens(url: str, content: str) -> int:
    messages = [{"role": "system", "content": RULES.strip()}, {"role": "user", "content": content}]
    body = {"model": "default", "messages": messages, "prompt_cache_key": "rules"}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body).json()
    return int(answer["usage"]["prompt_tokens_details"]["cached_tokens"])


@pytest.mark.parametrize("is_request", [False, True])
def test_a_prompt_is_warmed_for_the_server(run: Run, model: Path, *, is_request: bool) -> None:
    model.with_name("template").write_text(PLAIN)
    request = json.dumps({"messages": [{"role": "system", "content": RULES.strip()}]})
    model.with_name("rules.txt").write_text(request if is_request else RULES)

    said = run("prompts", "warm", "rules.txt", "--model", model.name)
    with serving("--model", model.name) as url:
        known = cached_tokens(url, "Who are you?")

    assert re.fullmatch(r"Processed \d+ tokens in \d+\.\d s and saved them as \S+\.bin\.", said.stdout.strip())
    assert known >= len(RULES.strip())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["none.txt", "--model", "small.gguf"], "none.txt cannot be read"),
        (["short.txt", "--model", "small.gguf"], "characters before a question"),
        (["wrong.json", "--model", "small.gguf"], "no chat completion request"),
        (["short.txt", "--model", "other"], "There is no model 'other'. Configured: default"),
        (["short.txt"], "only `completion` has a prompt cache"),
    ],
)
def test_a_prompt_that_cannot_be_warmed_is_refused(run: Run, model: Path, arguments: list[str], problem: str) -> None:
    model.with_name("template").write_text(PLAIN)
    model.with_name("short.txt").write_text("Be kind.")
    model.with_name("wrong.json").write_text('{"prompt": "Be kind."}')

    said = run("prompts", "warm", *arguments)

    assert said.exit_code == 1
    assert problem in said.output


@pytest.mark.parametrize(
    ("style", "template", "is_warned"),
    [
        ("hermes", PLAIN, True),
        ("hermes", "", True),
        ("hermes", HERMES, False),
        ("forced-hermes", PLAIN, False),
        ("generic", PLAIN, False),
        ("auto", PLAIN, False),
    ],
)
def test_check_warns_of_a_trained_style_on_a_template_without_tools(
    run: Run, model: Path, style: str, template: str, *, is_warned: bool
) -> None:
    model.write_bytes(head(WHOLE | {"tokenizer.chat_template": template}))
    given = {"type": "completion", "style": style, "backend": {"model": "small.gguf"}}
    model.with_name("rightseat.yaml").write_text(json.dumps({"models": {"default": given}}))

    checked = run("check")

    assert ("errors 0, warnings 1" in checked.output) == is_warned
    assert ("Warning: models.default: `style: hermes` is for models that were trained" in checked.output) == is_warned
