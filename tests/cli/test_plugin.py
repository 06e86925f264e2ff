"""`rightseat plugin`"""

import json
import shutil
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import Run
from tests.plugins.loading.sample import METADATA, OPENAPI, SAMPLE

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


@pytest.fixture
def sample(folder: Path) -> Path:
    place = folder / "sample"
    for path, text in SAMPLE.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    return place


def test_a_plugin_in_order_ends_with_0(run: Run, sample: Path) -> None:
    result = run("plugin", "check", "sample", "--strict")

    assert result.exit_code == 0
    assert result.output == "sample: errors 0, warnings 0, notes 0.\n"


def test_a_fault_is_told_with_its_place_and_ends_with_1(run: Run, sample: Path) -> None:
    (sample / "flows" / "look_up.yaml").write_text(SAMPLE["flows/look_up.yaml"].replace("next: which", "next: whch"))

    result = run("plugin", "check", "sample")

    assert result.exit_code == 1
    assert "sample/flows/look_up.yaml:12:11: E306 `next` names 'whch', which is no step." in result.output


def test_a_warning_ends_with_0_and_with_1_in_strict_mode(run: Run, sample: Path) -> None:
    (sample / "plugin.json").write_text(METADATA.replace('"Sample"', '"A name of many letters"'))

    assert run("plugin", "check", "sample").exit_code == 0
    result = run("plugin", "check", "sample", "--strict")
    assert result.exit_code == 1
    assert "[error]" in result.output


def test_programs_get_json(run: Run, sample: Path) -> None:
    (sample / "plugin.json").write_text(METADATA.replace('"1.2.3"', '"one"'))

    result = run("plugin", "check", "sample", "--json")

    (told,) = json.loads(result.output)
    assert (told["code"], told["severity"], told["file"], told["line"], told["pointer"]) == (
        "E107",
        "error",
        "plugin.json",
        5,
        "/version",
    )


def test_a_folder_that_is_not_there_is_told(run: Run) -> None:
    result = run("plugin", "check", "nothing")

    assert result.exit_code == 1
    assert "nothing cannot be read" in result.output


def test_a_new_plugin_is_in_order(run: Run, folder: Path) -> None:
    assert run("plugin", "new", "hello").exit_code == 0

    assert run("plugin", "check", "plugins/hello", "--strict").exit_code == 0
    again = run("plugin", "new", "hello")
    assert again.exit_code == 1
    assert "is there already" in again.output
    assert run("plugin", "new", "Not An Id").exit_code == 1


def test_a_document_becomes_a_plugin_with_advice(run: Run, folder: Path) -> None:
    scheme = "components:\n  securitySchemes:\n    key: {type: apiKey, in: query, name: api_key}\n"
    document = OPENAPI.replace("      operationId: get_thing\n", "").replace("          description: The id.\n", "")
    (folder / "api.yaml").write_text(document + scheme)

    result = run("plugin", "add", "api.yaml", "--id", "things")

    assert result.exit_code == 0, result.output
    assert "advice: GET /things/{id}: no operationId" in result.output
    assert "no description of id" in result.output
    about = json.loads((folder / "plugins" / "things" / "plugin.json").read_text())
    assert about["auth"] == {"type": "param", "args": {"api_key": "${secret:THINGS_KEY}"}}
    assert about["automatic_flow"] is True
    assert run("plugin", "check", "plugins/things").exit_code == 0


def test_a_document_with_errors_is_not_written(run: Run, folder: Path) -> None:
    (folder / "api.yaml").write_text(OPENAPI.replace("https://api.example.com/v1", "/v1"))

    assert run("plugin", "add", "api.yaml").exit_code == 1
    assert not (folder / "plugins").exists()
    assert run("plugin", "add", "api.yaml", "--server", "https://api.example.com").exit_code == 0


@pytest.mark.parametrize("text", ["", "[1]", "a: 1", "{", "swagger: '2.0'\ninfo: {title: a}"])
def test_what_is_no_document_is_told(run: Run, folder: Path, text: str) -> None:
    (folder / "api.yaml").write_text(text)

    result = run("plugin", "add", "api.yaml", "--id", "x")

    assert result.exit_code == 1
    assert "Traceback" not in result.output


def test_a_document_is_fetched_and_its_server_is_where_it_was(run: Run, folder: Path) -> None:
    (folder / "openapi.yaml").write_text(OPENAPI.replace("https://api.example.com/v1", "/v1"))
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"

        result = run("plugin", "add", f"http://{place}/openapi.yaml", "--allow", "127.0.0.1/32")
        server.shutdown()

    assert result.exit_code == 0, result.output
    assert f"contacts: {place}" in result.output
    assert f"url: http://{place}/v1" in (folder / "plugins" / "sample" / "openapi.yaml").read_text()


def test_a_private_address_is_not_fetched(run: Run) -> None:
    result = run("plugin", "add", "http://127.0.0.1:9/openapi.yaml")

    assert result.exit_code == 1
    assert "127.0.0.1" in result.output


def test_a_package_is_installed_after_asking(run: Run, folder: Path, sample: Path) -> None:
    shutil.make_archive("sample", "zip", folder, "sample")

    asked = run("plugin", "install", "sample.zip")
    assert asked.exit_code == 1
    assert "contacts: api.example.com" in asked.output
    assert not (folder / "plugins").exists()

    assert run("plugin", "install", "sample.zip", "--yes").exit_code == 0
    assert (folder / "plugins" / "sample" / "plugin.json").read_text() == METADATA


def test_secrets_in_a_package_go_to_the_store(run: Run, folder: Path, sample: Path) -> None:
    (sample / "plugin.json").write_text(METADATA.replace("Bearer ${secret:SAMPLE}", "Bearer sk-canary-123"))

    without = run("plugin", "install", "sample", "--yes")
    assert without.exit_code == 1
    assert "--secrets" in without.output

    done = run("plugin", "install", "sample", "--yes", "--secrets", "secrets.json")
    assert done.exit_code == 0, done.output
    assert "canary" not in done.output + without.output
    assert "canary" not in (folder / "plugins" / "sample" / "plugin.json").read_text()
    assert "Bearer sk-canary-123" in (folder / "secrets.json").read_text()


@pytest.mark.parametrize("name", ["file_convert", "host_security", "sales_insight", "weather"])
def test_the_examples_are_in_order(run: Run, name: str) -> None:
    result = run("plugin", "check", str(EXAMPLES / name), "--strict", "--json")

    assert result.exit_code == 0
    assert [one["code"] for one in json.loads(result.output)] == (["W702"] if name == "host_security" else [])


def test_of_several_a_file_is_left_out_and_told(run: Run, sample: Path) -> None:
    readme = sample.parent / "README.md"
    readme.write_text("About them.")

    result = run("plugin", "check", str(sample), str(readme))

    assert result.exit_code == 0
    assert f"{readme} is no folder, and left out." in result.stderr
    assert run("plugin", "check", str(readme)).exit_code == 1


def test_a_folder_without_a_plugin_to_test_is_told(run: Run) -> None:
    result = run("plugin", "test", "nowhere")

    assert result.exit_code == 1
    assert result.stderr == "Error: nowhere cannot be read: No such file or directory.\n"
