"""The files with which a fleet is run: they fit together, and what they configure is accepted."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from rightseat import __version__, app, config
from rightseat.cli.server import SHUTDOWN_MARGIN_S
from rightseat.health.probes import CHECK_TIMEOUT
from rightseat.health.warnings import explain_missing_auth
from tests.deploy.charts import render

ROOT = Path(__file__).parent.parent.parent
CHART = ROOT / "deploy" / "helm" / "rightseat"
SECRETS = {
    "DATABASE_URL": "postgresql://someone@database/rightseat",
    "REDIS_URL": "redis://log:6379/0",
    "OPENAI_API_KEY": "sk-nobody",
    "RIGHTSEAT_KEY": "a-key-for-the-application",
}


@pytest.fixture
def values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


@pytest.fixture
def manifests(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in render(CHART, values, "copilot")}


def assert_is_served(file: Path, monkeypatch: pytest.MonkeyPatch) -> config.Config:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    read = config.read(file)
    app.assemble(read)
    assert explain_missing_auth(read) is None
    return read


def test_the_configuration_of_a_fleet_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    read = assert_is_served(ROOT / "deploy" / "fleet.yaml", monkeypatch)

    assert read.server.host == "0.0.0.0"


def test_compose_gives_each_server_what_its_configuration_asks_for() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    asked = set(re.findall(r"\${(\w+)}", (ROOT / "deploy" / "fleet.yaml").read_text()))
    grace = yaml.safe_load((ROOT / "deploy" / "fleet.yaml").read_text())["server"]["shutdown_timeout"]

    for name in ("one", "two"):
        server = services[name]
        assert set(server["environment"]) == asked
        assert set(server["depends_on"]) <= set(services)
        assert int(server["stop_grace_period"].removesuffix("s")) > grace + SHUTDOWN_MARGIN_S
        assert (ROOT / server["volumes"][0].split(":")[0]).is_file()
    assert services["one"]["ports"] != services["two"]["ports"]


def test_servers_wait_until_the_database_listens_to_them() -> None:
    """Through its socket it answers earlier, while it is set up, and servers that trust in that fail at first."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]

    asked = services["database"]["healthcheck"]["test"]
    assert asked[asked.index("--host") + 1] == "127.0.0.1"
    for name in ("one", "two"):
        assert services[name]["depends_on"]["database"] == {"condition": "service_healthy"}


@pytest.mark.parametrize("name", ["one", "two", "database", "log"])
def test_a_service_of_compose_can_write_only_where_it_must_and_has_no_rights_to_spare(name: str) -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"][name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("user") != "root"


def test_a_server_of_compose_is_healthy_once_it_is_ready_and_can_write_its_state() -> None:
    server = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["one"]
    state = yaml.safe_load((ROOT / "deploy" / "fleet.yaml").read_text())["server"]["state_dir"]

    assert "http://127.0.0.1:8000/ready" in server["healthcheck"]["test"][-1]
    assert {mount.partition(":")[0] for mount in server["tmpfs"]} == {"/tmp", state}  # noqa: S108  # in its container


def test_a_server_cannot_write_where_its_configuration_is() -> None:
    """Who a folder belongs to that WORKDIR makes differs between builders, unless root is the one who makes it."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()

    assert lines.index("WORKDIR /etc/rightseat") < lines.index("USER 10001")


def test_the_image_has_only_packages_whose_hashes_are_pinned() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    pinned = (ROOT / "requirements" / "fleet.txt").read_text()

    installs = re.findall(r"pip install (.*)", dockerfile)
    assert installs
    assert all("--require-hashes" in one or "--no-deps /wheel" in one for one in installs)
    needed = {"asyncpg", "azure-identity", "botocore", "dbos", "google-auth", "redis"}
    assert needed <= set(re.findall(r"^([\w.-]+)==", pinned, re.MULTILINE))
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / source).exists() for source in copied.split())


def test_the_chart_is_of_this_version_and_its_values_fit_their_schema(values: dict[str, Any]) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())

    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__
    jsonschema_rs.validate(schema, values)
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, {**values, "terminationSeconds": 30})


def test_the_chart_s_configuration_is_accepted(
    manifests: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "rightseat.yaml"
    written.write_text(manifests["ConfigMap"]["data"]["rightseat.yaml"])

    read = assert_is_served(written, monkeypatch)

    assert (
        read.server.port
        == manifests["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"]
    )


@pytest.mark.skipif(shutil.which("helm") is None, reason="there is no Helm on this machine")
def test_helm_makes_the_same_of_the_chart(manifests: dict[str, dict[str, Any]]) -> None:
    made = subprocess.run(["helm", "template", "copilot", str(CHART)], capture_output=True, text=True, check=True)

    assert {one["kind"]: one for one in yaml.safe_load_all(made.stdout) if one} == manifests


def test_a_pod_is_asked_for_its_health_and_has_time_to_end(
    manifests: dict[str, dict[str, Any]], values: dict[str, Any]
) -> None:
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    [server] = pod["containers"]

    for probe in ("startupProbe", "livenessProbe"):
        assert server[probe]["httpGet"] == {"path": "/health", "port": "http"}
    assert server["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "http"}
    assert server["readinessProbe"]["timeoutSeconds"] > CHECK_TIMEOUT
    drain = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert (
        pod["terminationGracePeriodSeconds"]
        > drain + values["config"]["server"]["shutdown_timeout"] + SHUTDOWN_MARGIN_S
    )
    assert pod["terminationGracePeriodSeconds"] >= 40


def test_service_and_budget_mean_the_pods_of_the_deployment(manifests: dict[str, dict[str, Any]]) -> None:
    labels = manifests["Deployment"]["spec"]["template"]["metadata"]["labels"]

    selected = manifests["Deployment"]["spec"]["selector"]["matchLabels"]
    assert selected.items() <= labels.items()
    assert manifests["Service"]["spec"]["selector"] == selected
    assert manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == selected
    assert manifests["PodDisruptionBudget"]["spec"]["maxUnavailable"] < manifests["Deployment"]["spec"]["replicas"]


def test_a_pod_may_have_an_identity_of_a_cloud(manifests: dict[str, dict[str, Any]]) -> None:
    pod = manifests["Deployment"]["spec"]["template"]

    assert pod["spec"]["serviceAccountName"] == "default"
    assert pod["metadata"]["labels"]["azure.workload.identity/use"] == "false"  # Azure compares text


def test_what_is_secret_is_in_no_file_of_the_chart(manifests: dict[str, dict[str, Any]]) -> None:
    [server] = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    asked = set(re.findall(r"\${(\w+)}", manifests["ConfigMap"]["data"]["rightseat.yaml"]))

    assert server["envFrom"] == [{"secretRef": {"name": "rightseat"}}]
    assert asked == set(SECRETS)
