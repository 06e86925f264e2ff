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


def test_check_of_a_valid_plugin_exits_with_0(run: Run, sample: Path) -> None:
    result = run("plugin", "check", "sample", "--strict")

    assert result.exit_code == 0
    assert result.output == "sample: errors 0, warnings 0, notes 0.\n"


def test_check_prints_an_error_with_its_place_and_exits_with_1(run: Run, sample: Path) -> None:
    (sample / "flows" / "look_up.yaml").write_text(SAMPLE["flows/look_up.yaml"].replace("next: which", "next: whch"))

    result = run("plugin", "check", "sample")

    assert result.exit_code == 1
    assert "sample/flows/look_up.yaml:12:11: E306 `next` names 'whch', which is not a step." in result.output


def test_check_with_a_warning_exits_with_0_and_with_1_in_strict_mode(run: Run, sample: Path) -> None:
    (sample / "plugin.json").write_text(METADATA.replace('"Sample"', '"A name of many letters"'))

    assert run("plugin", "check", "sample").exit_code == 0
    result = run("plugin", "check", "sample", "--strict")
    assert result.exit_code == 1
    assert "[error]" in result.output


def test_check_prints_diagnostics_as_json(run: Run, sample: Path) -> None:
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


def test_check_reports_a_missing_folder(run: Run) -> None:
    result = run("plugin", "check", "nothing")

    assert result.exit_code == 1
    assert "nothing cannot be read" in result.output


def test_a_new_plugin_is_valid(run: Run, folder: Path) -> None:
    assert run("plugin", "new", "hello").exit_code == 0

    assert run("plugin", "check", "plugins/hello", "--strict").exit_code == 0
    again = run("plugin", "new", "hello")
    assert again.exit_code == 1
    assert "already exists" in again.output
    assert run("plugin", "new", "Not An Id").exit_code == 1


def test_import_openapi_writes_a_plugin_and_prints_advice(run: Run, folder: Path) -> None:
    scheme = "components:\n  securitySchemes:\n    key: {type: apiKey, in: query, name: api_key}\n"
    document = OPENAPI.replace("      operationId: get_thing\n", "").replace("          description: The id.\n", "")
    (folder / "api.yaml").write_text(document + scheme)

    result = run("plugin", "import-openapi", "api.yaml", "--id", "things")

    assert result.exit_code == 0, result.output
    assert "advice: GET /things/{id}: no operationId" in result.output
    assert "no description of id" in result.output
    about = json.loads((folder / "plugins" / "things" / "plugin.json").read_text())
    assert about["auth"] == {"type": "param", "args": {"api_key": "${secret:THINGS_KEY}"}}
    assert about["automatic_flow"] is True
    assert run("plugin", "check", "plugins/things").exit_code == 0


def test_import_openapi_writes_nothing_for_a_document_with_errors(run: Run, folder: Path) -> None:
    (folder / "api.yaml").write_text(OPENAPI.replace("https://api.example.com/v1", "/v1"))

    assert run("plugin", "import-openapi", "api.yaml").exit_code == 1
    assert not (folder / "plugins").exists()
    assert run("plugin", "import-openapi", "api.yaml", "--server", "https://api.example.com").exit_code == 0


@pytest.mark.parametrize("text", ["", "[1]", "a: 1", "{", "swagger: '2.0'\ninfo: {title: a}"])
def test_import_openapi_reports_a_file_that_is_no_document(run: Run, folder: Path, text: str) -> None:
    (folder / "api.yaml").write_text(text)

    result = run("plugin", "import-openapi", "api.yaml", "--id", "x")

    assert result.exit_code == 1
    assert "Traceback" not in result.output


def test_import_openapi_fetches_a_document_and_uses_its_host_as_server(run: Run, folder: Path) -> None:
    (folder / "openapi.yaml").write_text(OPENAPI.replace("https://api.example.com/v1", "/v1"))
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"

        result = run("plugin", "import-openapi", f"http://{place}/openapi.yaml", "--allow", "127.0.0.1/32")
        server.shutdown()

    assert result.exit_code == 0, result.output
    assert f"contacts: {place}" in result.output
    assert f"url: http://{place}/v1" in (folder / "plugins" / "sample" / "openapi.yaml").read_text()


def test_import_openapi_does_not_fetch_a_private_address(run: Run) -> None:
    result = run("plugin", "import-openapi", "http://127.0.0.1:9/openapi.yaml")

    assert result.exit_code == 1
    assert "127.0.0.1" in result.output


def test_install_asks_before_it_installs(run: Run, folder: Path, sample: Path) -> None:
    shutil.make_archive("sample", "zip", folder, "sample")

    asked = run("plugin", "install", "sample.zip")
    assert asked.exit_code == 1
    assert "contacts: api.example.com" in asked.output
    assert not (folder / "plugins").exists()

    assert run("plugin", "install", "sample.zip", "--yes").stdout.endswith("Installed plugins/sample.\n")
    assert (folder / "plugins" / "sample" / "plugin.json").read_text() == METADATA


def test_install_moves_secrets_of_a_package_to_the_secret_store(run: Run, folder: Path, sample: Path) -> None:
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
def test_the_example_plugins_are_valid(run: Run, name: str) -> None:
    result = run("plugin", "check", str(EXAMPLES / name), "--strict", "--json")

    assert result.exit_code == 0
    assert [one["code"] for one in json.loads(result.output)] == (["W702"] if name == "host_security" else [])


def test_check_skips_and_reports_arguments_that_are_no_folders(run: Run, sample: Path) -> None:
    readme = sample.parent / "README.md"
    readme.write_text("About them.")

    result = run("plugin", "check", str(sample), str(readme))

    assert result.exit_code == 0
    assert f"{readme} is not a folder; skipped." in result.stderr
    assert run("plugin", "check", str(readme)).exit_code == 1


def test_plugin_test_reports_a_missing_folder(run: Run) -> None:
    result = run("plugin", "test", "nowhere")

    assert result.exit_code == 1
    assert result.stderr == "Error: nowhere cannot be read: No such file or directory.\n"


def test_a_new_plugin_can_be_tested_and_run_unchanged(run: Run, folder: Path) -> None:
    run("plugin", "new", "hello")

    assert run("plugin", "test", "plugins/hello").stdout.endswith("plugins/hello: 2 cases\n")
    ran = run("plugin", "run", "plugins/hello", "introduce", "What can you do?")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.startswith("You said: ")


def test_install_names_the_version_that_it_replaces(run: Run, folder: Path) -> None:
    run("plugin", "new", "hello", "--into", "mine")
    first = run("plugin", "install", "mine/hello", "--yes")
    about = folder / "mine/hello/plugin.json"
    about.write_text(about.read_text().replace("0.1.0", "0.2.0"))

    again = run("plugin", "install", "mine/hello", "--yes")

    assert first.stdout.endswith("Installed plugins/hello.\n")
    assert again.stdout.endswith("Installed plugins/hello: version 0.2.0 replaces the installed version 0.1.0.\n")


def test_install_of_a_document_names_the_command_for_it(run: Run, folder: Path) -> None:
    run("plugin", "new", "hello")

    result = run("plugin", "install", "plugins/hello/openapi.yaml")

    assert result.exit_code == 1
    assert "use `rightseat plugin import-openapi plugins/hello/openapi.yaml`." in result.stderr
