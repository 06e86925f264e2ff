"""The files with which one server is run behind a real nginx and a real Caddy, with TLS."""

import os
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
import yaml

from rightseat import app, config
from rightseat.cli.server import SHUTDOWN_MARGIN_S
from rightseat.health.warnings import explain_missing_auth
from tests.certificates import Certificates, make_certificates
from tests.conditions import is_listening, wait_until
from tests.services import free_port

FILES = Path(__file__).parent.parent.parent / "deploy" / "one-server"
KEY = "a-key-for-the-application"
CHUNK_DELAY_S = 0.1

Proxy = Callable[[Path, int], AbstractContextManager[int]]
"""Takes a folder and the port of the server, and listens with TLS on the port that it returns."""


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path)


@contextmanager
def nginx(folder: Path, upstream: int) -> Iterator[int]:
    require("nginx")
    port, plain = free_port(), free_port()
    site = (FILES / "nginx.conf").read_text()
    site = re.sub(r" *listen \[::\].*\n", "", site)
    site = site.replace("listen 443", f"listen 127.0.0.1:{port}").replace("listen 80", f"listen 127.0.0.1:{plain}")
    site = re.sub(r"/etc/letsencrypt/\S+(?=;)", str(folder / "server.pem"), site)
    site = site.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    places = "".join(f"{kind}_temp_path {folder};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{places}{site}}}\n"
    )
    command = ["nginx", "-e", f"{folder}/nginx.log", "-c", f"{folder}/nginx.conf"]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    with running(command, port):
        yield port


@contextmanager
def caddy(folder: Path, upstream: int) -> Iterator[int]:
    require("caddy")
    port = free_port()
    site = (FILES / "Caddyfile").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    certificate = f"\ttls {folder}/server.pem {folder}/server.pem\n"
    site = site.replace("copilot.example.com {\n", f"https://copilot.example.com:{port} {{\n{certificate}")
    options = "{\nadmin off\nauto_https disable_redirects\ndefault_bind 127.0.0.1\n}\n"
    (folder / "Caddyfile").write_text(f"{options}{site}")
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    subprocess.run(["caddy", "validate", *command[2:]], check=True, capture_output=True, env=caddy_environ(folder))
    with running(command, port, **caddy_environ(folder)):
        yield port


def caddy_environ(folder: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}


def require(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@contextmanager
def running(command: list[str], port: int, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=environ or None, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: is_listening(port), 60)  # on a busy machine
            yield process
        finally:
            process.kill()


@contextmanager
def rightseat(folder: Path, **server: object) -> Iterator[tuple[int, Path]]:
    """A server with the built-in model; its port and its log. `server` changes the section of the documented file."""
    given = yaml.safe_load((FILES / "rightseat.yaml").read_text())
    given["models"]["default"] = {"type": "scripted", "chunk_delay": CHUNK_DELAY_S}
    given["faces"] = [{"type": "openai"}, {"type": "copilotkit"}, {"type": "openbb"}]
    changes = {"port": 0, "state_dir": str(folder / "state"), **server}
    given["server"] = {name: value for name, value in (given["server"] | changes).items() if value is not None}
    (folder / "rightseat.yaml").write_text(yaml.safe_dump(given))
    command = [sys.executable, "-m", "rightseat", "serve", "--config", "rightseat.yaml", "--access-log"]
    log = folder / "rightseat.log"
    with log.open("wb") as errors:
        environ = os.environ | {"RIGHTSEAT_KEY": KEY}
        with subprocess.Popen(command, cwd=folder, stderr=errors, stdout=errors, env=environ) as process:
            try:
                yield read_port(log, process), log
            finally:
                process.kill()


def read_port(log: Path, process: subprocess.Popen[bytes]) -> int:
    """The port in the summary, which the server prints once it accepts requests."""
    wait_until(lambda: "\n  origins" in log.read_text() or process.poll() is not None, 60)
    assert process.poll() is None, log.read_text()
    return int(re.findall(r"  http://127\.0\.0\.1:(\d+)", log.read_text())[0])


def client(certificates: Certificates) -> httpx2.Client:
    """Its certificates are for 127.0.0.1; `Host` names the site, as DNS would let it."""
    context = ssl.create_default_context(cafile=str(certificates.ca))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    headers = {"host": "copilot.example.com", "authorization": f"Bearer {KEY}"}
    return httpx2.Client(verify=context, headers=headers, trust_env=False)


@contextmanager
def deployed(proxy: Proxy, certificates: Certificates, **server: object) -> Iterator[tuple[httpx2.Client, str, Path]]:
    folder = certificates.ca.parent
    with ExitStack() as stack:
        port, log = stack.enter_context(rightseat(folder, **server))
        front = stack.enter_context(proxy(folder, port))
        yield stack.enter_context(client(certificates)), f"https://127.0.0.1:{front}", log


RECORDING = FILES.parents[1] / "tests" / "recordings" / "copilotkit-graphql" / "plain-chat.request.txt"
QUESTIONS = {
    "/v1/chat/completions": '{"model": "default", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}',
    "/copilotkit": RECORDING.read_text().partition("\n\n")[2],  # multipart/mixed, not server-sent events
}


@pytest.mark.serial
@pytest.mark.parametrize("path", QUESTIONS)
@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_chunks_pass_the_proxy_one_by_one(proxy: Proxy, path: str, certificates: Certificates) -> None:
    headers = {"content-type": "application/json", "accept": "multipart/mixed, text/event-stream"}

    with (
        deployed(proxy, certificates) as (caller, url, _),
        caller.stream("POST", f"{url}{path}", content=QUESTIONS[path], headers=headers) as response,
    ):
        assert response.status_code == 200
        arrivals = [time.monotonic() for _ in response.iter_raw()]

    gaps = [after - before for before, after in pairwise(arrivals)]
    assert len(gaps) > 10
    assert statistics.median(gaps) > CHUNK_DELAY_S / 2


@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_the_proxy_decides_scheme_host_and_client_address(proxy: Proxy, certificates: Certificates) -> None:
    without = {"public_url": None, "hosts": ["copilot.example.com"]}

    with deployed(proxy, certificates, **without) as (caller, url, log):
        [listed] = caller.get(f"{url}/copilots.json").json().values()
        caller.get(f"{url}/health", headers={"x-forwarded-for": "203.0.113.7"})

    assert listed["endpoints"]["query"] == "https://copilot.example.com/v1/query"
    # The server trusts the client too, if it is on this machine. Caddy trusts none.
    address = "203.0.113.7:0" if proxy is nginx else r"127.0.0.1:0"
    assert re.search(rf'uvicorn.access: {address} - "GET /health', log.read_text())


def test_a_public_url_decides_addresses_hosts_and_origins(tmp_path: Path) -> None:
    page = {"origin": "https://copilot.example.com"}
    key = {"authorization": f"Bearer {KEY}"}

    with rightseat(tmp_path, public_url="https://copilot.example.com/pilot/") as (port, log):
        url = f"http://127.0.0.1:{port}"
        [listed] = httpx2.get(f"{url}/copilots.json", headers=key).json().values()
        named = httpx2.get(f"{url}/health", headers={"host": "copilot.example.com"})
        other = httpx2.get(f"{url}/health", headers={"host": "other.example.com"})
        own = httpx2.post(f"{url}/copilotkit", json={"query": "{ hello }"}, headers=key | page)
        foreign = httpx2.post(
            f"{url}/copilotkit", json={"query": "{ hello }"}, headers=key | {"origin": "https://x.test"}
        )

    assert listed["endpoints"]["query"] == "https://copilot.example.com/pilot/v1/query"
    assert [named.status_code, other.status_code] == [200, 421]
    assert [own.status_code, foreign.status_code] == [200, 403]
    assert "  serves   https://copilot.example.com/pilot/v1  openai, with a key\n" in log.read_text()
    assert f"  listens  http://127.0.0.1:{port}\n" in log.read_text()


def test_headers_of_other_addresses_are_ignored_and_logged_once(tmp_path: Path) -> None:
    forged = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7", "x-forwarded-host": "evil.example"}

    with rightseat(tmp_path, public_url=None, trusted_proxies=["10.0.0.0/8"]) as (port, log):
        headers = forged | {"authorization": f"Bearer {KEY}"}
        answers = [httpx2.get(f"http://127.0.0.1:{port}/copilots.json", headers=headers).json() for _ in range(2)]

    assert [one["endpoints"]["query"] for answer in answers for one in answer.values()] == [
        f"http://127.0.0.1:{port}/v1/query"
    ] * 2
    assert "203.0.113.7" not in log.read_text()
    assert re.findall(r"WARNING .*", log.read_text()) == [
        "WARNING rightseat.cli.proxy_headers: Ignored x-forwarded-for and x-forwarded-proto of 127.0.0.1. "
        "If this is your reverse proxy, add its address to `server.trusted_proxies`."
    ]


def test_no_client_of_a_trusted_proxy_chooses_the_host(tmp_path: Path) -> None:
    """A page that resolves its own name to 127.0.0.1 can send any header except `Host`."""
    with rightseat(tmp_path) as (port, _):
        headers = {"host": "evil.example", "x-forwarded-host": "localhost"}
        answer = httpx2.get(f"http://127.0.0.1:{port}/health", headers=headers)

    assert answer.status_code == 421


def read_configuration(monkeypatch: pytest.MonkeyPatch) -> config.Config:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    monkeypatch.setenv("RIGHTSEAT_KEY", KEY)
    return config.read(FILES / "rightseat.yaml")


def test_the_configuration_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_configuration(monkeypatch)

    app.assemble(read)
    assert explain_missing_auth(read) is None
    assert not read.server.is_local


def test_systemd_accepts_the_unit_and_waits_for_open_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = (FILES / "rightseat.service").read_text()
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)

    assert int(seconds) > read_configuration(monkeypatch).server.shutdown_timeout + SHUTDOWN_MARGIN_S
    require("systemd-analyze")
    installed = tmp_path / "rightseat.service"
    installed.write_text(unit.replace("/opt/rightseat/bin/rightseat", sys.executable))
    checked = subprocess.run(["systemd-analyze", "verify", str(installed)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_compose_publishes_the_server_to_its_machine_only_and_keeps_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    server = yaml.safe_load((FILES / "compose.yaml").read_text())["services"]["server"]
    read = read_configuration(monkeypatch)
    mounts = dict(mount.split(":")[:2] for mount in server["volumes"])

    assert server["ports"] == ["127.0.0.1:8000:8000"]
    assert mounts["state"] == str(read.server.state_dir)
    assert (FILES / "rightseat.yaml").is_file()
    assert int(server["stop_grace_period"].removesuffix("s")) > read.server.shutdown_timeout + SHUTDOWN_MARGIN_S
    assert set(server["environment"]) == set(re.findall(r"\${(\w+)}", (FILES / "rightseat.yaml").read_text()))
    assert (server["read_only"], server["cap_drop"]) == (True, ["ALL"])
    assert server["security_opt"] == ["no-new-privileges:true"]


def test_the_image_keeps_its_state_in_a_volume_and_reports_its_health(monkeypatch: pytest.MonkeyPatch) -> None:
    dockerfile = (FILES.parents[1] / "Dockerfile").read_text()

    assert f"\nVOLUME {read_configuration(monkeypatch).server.state_dir}\n" in dockerfile
    assert "http://127.0.0.1:8000/ready" in dockerfile.partition("HEALTHCHECK")[2]
