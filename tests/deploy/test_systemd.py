"""The unit of systemd and the site of nginx, installed by the commands of the page, and started."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import make_certificates
from tests.conditions import wait_until
from tests.deploy.machine import CHECKOUT, ENVIRON, Machine, Unavailable, boot, read_commands

PAGE = (CHECKOUT / "docs" / "how-to" / "deploy-one-server.md").read_text()
KEY = "a-key-for-the-application"
SITE = "copilot.example.com"
READY = ("curl", "--fail", "--silent", "http://127.0.0.1:8000/ready")
QUESTION = '{"model": "default", "stream": true, "messages": [{"role": "user", "content": "Count to twenty."}]}'
CHUNK_DELAY_S = 0.2


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """With the service of the page, in which the built-in model replaces that of OpenAI."""
    folder = tmp_path_factory.mktemp("systemd") / "machine"
    folder.mkdir()
    try:
        with boot(folder, "curl", "nginx") as machine:
            install(machine)
            yield machine
    except Unavailable as reason:
        pytest.skip(str(reason))


def install(machine: Machine) -> None:
    environment, packages, *commands = read_commands(PAGE, "## With systemd", 0)
    make_key, edit = read_commands(PAGE, "## With systemd", 1)
    reload, start, *_ = read_commands(PAGE, "## With systemd", 2)
    assert (environment, packages) == (  # `boot` has done both
        "sudo python3 -m venv /opt/rightseat",
        "sudo /opt/rightseat/bin/pip install .",
    )
    assert edit == "sudoedit /etc/rightseat/environment"
    for command in commands:
        machine.run("sh", "-c", f"cd /opt/checkout && {command.removeprefix('sudo ')}")
    assert "rs_" in machine.run(*shlex.split(make_key))
    machine.write("/etc/rightseat/environment", f"OPENAI_API_KEY=sk-nobody\nRIGHTSEAT_KEY={KEY}\n")
    configuration = machine.run("cat", "/etc/rightseat/rightseat.yaml")
    model = f"  default: {{type: scripted, chunk_delay: {CHUNK_DELAY_S}}}"
    machine.write("/etc/rightseat/rightseat.yaml", re.sub(r"^  default: .*$", model, configuration, flags=re.MULTILINE))
    for command in (reload, start):
        machine.run(*shlex.split(command.removeprefix("sudo ")))
    await_ready(machine)


def await_ready(machine: Machine) -> None:
    try:
        wait_until(lambda: machine.has(*READY))
    except TimeoutError:
        raise AssertionError(machine.run("journalctl", "--unit", "rightseat", "--no-pager")) from None


def show(machine: Machine, name: str) -> str:
    return machine.run("systemctl", "show", "--property", name, "--value", "rightseat").strip()


def ask(machine: Machine, *options: str) -> "subprocess.Popen[str]":
    """The question of the page."""
    headers = ("-H", f"Authorization: Bearer {KEY}", "-H", "Content-Type: application/json")
    command = machine.command("curl", "--silent", "--no-buffer", *options, *headers, "-d", QUESTION)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRON)


def test_the_service_runs_as_a_user_of_its_own_and_can_write_its_state_only(machine: Machine) -> None:
    pid = show(machine, "MainPID")
    seen = machine.run("cat", f"/proc/{pid}/status")
    state = machine.run("stat", "--format", "%a %U", "/var/lib/private/rightseat").split()
    inside = ("nsenter", "--target", pid, "--mount", "--root")

    assert show(machine, "ActiveState") == "active"
    assert machine.run("systemctl", "is-enabled", "rightseat").strip() == "enabled"
    assert re.search(r"^Uid:\t(?!0\t)\d+\t", seen, re.MULTILINE)
    assert "\nCapEff:\t0000000000000000\n" in seen
    assert "\nSeccomp:\t2\n" in seen
    assert state == ["700", "rightseat"]
    assert machine.has(*inside, "test", "-s", "/var/lib/rightseat/rightseat.db")
    assert not machine.has(*inside, "touch", "/etc/rightseat/new")
    assert machine.run(*inside, "ls", "/root") == ""


def test_a_service_that_was_killed_is_started_again(machine: Machine) -> None:
    before = show(machine, "MainPID")
    machine.run("systemctl", "kill", "--signal", "SIGKILL", "rightseat")

    wait_until(lambda: show(machine, "MainPID") not in (before, "0"))
    await_ready(machine)

    assert show(machine, "NRestarts") == "1"


def test_a_service_that_stops_lets_its_streams_end(machine: Machine) -> None:
    with ask(machine, "http://127.0.0.1:8000/v1/chat/completions") as stream:
        assert stream.stdout
        first = stream.stdout.readline()
        machine.run("systemctl", "stop", "rightseat")
        rest = stream.stdout.read()

    assert first.startswith("data: ")
    assert rest.rstrip().endswith("data: [DONE]")
    assert (show(machine, "ActiveState"), show(machine, "Result")) == ("inactive", "success")
    machine.run("systemctl", "start", "rightseat")
    await_ready(machine)


def test_the_site_of_nginx_is_served_on_its_ports_with_tls(machine: Machine, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    for name in ("fullchain.pem", "privkey.pem"):
        machine.write(f"/etc/letsencrypt/live/{SITE}/{name}", certificates.server.read_text())
    machine.write("/tmp/ca.pem", certificates.ca.read_text())  # noqa: S108  # of a machine of its own
    machine.run("sh", "-c", "cp /opt/checkout/deploy/one-server/nginx.conf /etc/nginx/conf.d/rightseat.conf && nginx")
    reach = ("--cacert", "/tmp/ca.pem", "--resolve", f"{SITE}:443:127.0.0.1", "--resolve", f"{SITE}:80:[::1]")  # noqa: S108

    moved = machine.run("curl", "--silent", "--head", *reach, f"http://{SITE}/ready")
    listed = json.loads(
        machine.run("curl", "--silent", *reach, "-H", f"Authorization: Bearer {KEY}", f"https://{SITE}/v1/models")
    )
    with ask(machine, *reach, f"https://{SITE}/v1/chat/completions") as stream:
        answer = stream.communicate()[0]

    assert moved.startswith("HTTP/1.1 301")
    assert f"\nLocation: https://{SITE}/ready\n" in moved
    assert [model["id"] for model in listed["data"]] == ["default"]
    assert answer.rstrip().endswith("data: [DONE]")
