"""A name in the configuration → its module."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from rightseat import config, parts
from rightseat.core.errors import ConfigError


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_plain_name_is_a_module_of_rightseat() -> None:
    assert parts.find("models", "scripted").__name__ == "rightseat.models.scripted"
    assert parts.find("stores", "memory").__name__ == "rightseat.stores.memory"


def test_a_name_with_a_dot_is_imported_as_it_stands() -> None:
    assert parts.find("models", "tests.acme.models").__name__ == "tests.acme.models"


def test_an_unknown_name_is_reported_with_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as error:
        parts.find("models", "opanai")

    assert error.value.message == (
        "There is no model of type 'opanai'. Did you mean 'openai'? "
        "Known: anthropic, completion, empty, fallback, google, langchain, openai, scripted."
    )


def test_a_name_like_nothing_we_have_gets_no_guess() -> None:
    with pytest.raises(ConfigError, match=r"^There is no engine of type 'kubernetes'\. Known: dbos, local\.$"):
        parts.find("engines", "kubernetes")


def test_modules_that_only_help_parts_are_no_parts() -> None:
    assert "_shared" not in parts.builtin("faces")
    with pytest.raises(ConfigError, match="no face of type '_shared'"):
        parts.find("faces", "_shared")


def test_a_module_that_helps_parts_is_none_where_a_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for module in ("rightseat.stores.pool", "rightseat.logs.postgres"):
        monkeypatch.delitem(sys.modules, module, raising=False)

    assert parts.builtin("stores") == ["memory", "sql"]
    assert "postgres" in parts.builtin("logs")


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"The model 'nowhere\.groq' cannot be found: there is no module 'nowhere'\."):
        parts.find("models", "nowhere.groq")


def test_a_package_that_is_missing_is_said_with_how_to_install_it(modules: Path) -> None:
    (modules / "needy_parts").mkdir()
    (modules / "needy_parts" / "groq.py").write_text("import groq_that_is_missing.client\n")

    with pytest.raises(ConfigError) as error:
        parts.find("models", "needy_parts.groq")

    assert error.value.message == (
        "The model 'needy_parts.groq' needs a package that is not installed: pip install groq_that_is_missing"
    )


def test_another_package_offers_a_part_by_an_entry_point(modules: Path) -> None:
    info = modules / "acme_groq-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-groq\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rightseat.models]\ngroq = tests.acme.models\n")

    assert parts.find("models", "groq").__name__ == "tests.acme.models"
    assert "groq" in parts.names("models")
    assert "groq" not in parts.builtin("models")


def test_a_module_without_options_is_not_a_part() -> None:
    with pytest.raises(ConfigError, match="'json' is not a part: it has no `Options`"):
        parts.options(json)


def test_a_reference_is_the_object_that_it_names() -> None:
    assert parts.load("json:dumps") is json.dumps


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("json", r"'json' cannot be imported\. Write it as 'module:name'\."),
        ("json:", r"Write it as 'module:name'"),
        (":dumps", r"Write it as 'module:name'"),
        ("jsn:dumps", r"'jsn:dumps' cannot be found: there is no module 'jsn'\."),
        ("json:dumpz", r"The module 'json' has no 'dumpz'\. Did you mean 'dump'\?"),
    ],
)
def test_an_invalid_reference_is_reported(reference: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parts.load(reference)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def get_weather(:\n", r"broken_tools\.py:1: SyntaxError: "),
        ("import json\n\nNEAR = json.loads('[')\n", r"broken_tools\.py:3: JSONDecodeError: "),
        ("\nassert 1 == 2, 'no'\n", r"broken_tools\.py:2: AssertionError: no"),
    ],
)
def test_a_module_that_cannot_be_imported_is_reported_with_its_line(modules: Path, code: str, said: str) -> None:
    modules.joinpath("broken_tools.py").write_text(code)

    with pytest.raises(ConfigError, match=rf"'broken_tools:get_weather' cannot be imported: .*{said}"):
        parts.load("broken_tools:get_weather")


def test_folders_and_files_are_for_this_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.touch(mode=0o644)
    umask = os.umask(0)
    try:
        parts.private_folder(tmp_path / "above" / "state")
        parts.private_file(tmp_path / "new")
        parts.private_file(old)
    finally:
        os.umask(umask)

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"above": 0o700, "state": 0o700, ".gitignore": 0o600, "new": 0o600, "old": 0o600}


@pytest.mark.parametrize(
    "name",
    [
        "azure",
        "bedrock",
        "claude",
        "gemini",
        "groq",
        "llama.cpp",
        "LM_Studio",
        "lmstudio",
        "mistral",
        "ollama",
        "openrouter",
        "vllm",
    ],
)
def test_the_name_of_a_provider_gets_the_model_to_write(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        parts.find("models", name)

    example = re.fullmatch(rf"There is no model of type '{name}'\. Write (.*)\. Known: .*", error.value.message)
    assert example is not None
    variables = dict.fromkeys(re.findall(r"\${(\w+)}", example[1]), "0123456789abcdef")
    written = config.parse(f"models: {{default: {example[1]}}}", environ=variables)
    assert written.models["default"].type in ("openai", "anthropic", "google")


def test_ollama_is_a_model_of_type_openai() -> None:
    with pytest.raises(
        ConfigError, match=r"Write {type: openai, model: llama3.2, base_url: http://localhost:11434/v1}\."
    ):
        config.parse("models: {default: {type: ollama, model: llama3.2}}", environ={})
