"""Sign-in to the console in Chromium, with the certified provider `oidc-provider` on another site.

What the person does is in `sign-in/sign-in.mjs`; it is done once, and judged here. Hostile providers and responses are
in `tests/access/test_sign_in.py`.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients import test_react_app as board

PROGRAMS = Path(__file__).parent / "sign-in"
CLIENT, SECRET, KEY = "rightseat-console", "a-secret/of+this:client", "key-of-the-operator-1234"

pytestmark = pytest.mark.clients

Seen = Mapping[str, Any]

CONFIGURATION = """
models: {{default: {{type: scripted}}}}
faces: [{{type: operator}}, {{type: console}}]
server: {{port: {port}, public_url: "http://127.0.0.1:{port}"}}
access:
  keys: [{{name: desk, key: {key}, user: desk}}]
  oidc:
    name: Example
    issuer: http://localhost:{provider}
    client_id: {client}
    client_secret: "{secret}"
    request_scopes: [openid, groups]
    grants: [{{claim: groups, value: copilot-operators, scopes: ["*", "operator.*:*"]}}]
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What was on the page, moment by moment."""
    node, browser = board.find_programs()
    folder = tmp_path_factory.mktemp("sign-in")
    packages = board.install(PROGRAMS).parent
    port, provider = free_ports()
    text = CONFIGURATION.format(port=port, provider=provider, client=CLIENT, secret=SECRET, key=KEY)
    (folder / "rightseat.yaml").write_text(text)
    url = f"http://127.0.0.1:{port}"
    environ = os.environ | {"PACKAGES": str(packages), "CHROMIUM": browser} | board.picture()
    provide = [node, PROGRAMS / "provider.mjs", str(provider), CLIENT, SECRET]
    provide += [f"{url}/sign-in/callback", f"{url}/console/"]
    serve = [sys.executable, "-m", "rightseat", "serve"]
    with running(provide, folder, environ, "listening"), running(serve, folder, environ, "console"):
        told = board.run([node, PROGRAMS / "sign-in.mjs", f"{url}/console/", KEY], folder, environ)
    found: Seen = json.loads(told)
    assert "failure" not in found, found["failure"]
    return found


def test_the_provider_signs_a_user_in_and_the_screen_is_shown_again(seen: Seen) -> None:
    assert seen["address"].endswith("/console/#/settings")
    assert seen["user"] == "alice"


def test_the_session_is_a_strict_cookie_and_pages_store_no_token(seen: Seen) -> None:
    assert seen["cookies"] == [["rightseat", True, "Strict"]]
    assert "eyJ" not in seen["storage"]


def test_the_response_comes_from_another_site(seen: Seen) -> None:
    assert seen["sites"] == [["cross-site", 200]] * 3


def test_signing_out_ends_the_session_at_the_provider_too(seen: Seen) -> None:
    assert seen["left"].endswith("/console/")


def test_a_user_without_a_grant_reads_why(seen: Seen) -> None:
    assert seen["noAccess"] == (
        "Example knows you, but your account may not use this server. Ask its operator for access."
    )


def test_a_cancelled_sign_in_is_explained(seen: Seen) -> None:
    assert seen["denied"].startswith("Example did not sign you in: it was cancelled or refused there.")


def test_an_unknown_problem_in_the_address_shows_a_text_of_ours(seen: Seen) -> None:
    assert seen["unknown"].startswith("The response of Example failed a check")


def test_a_key_still_signs_in(seen: Seen) -> None:
    assert seen["withKey"] == "desk"


def test_the_console_stays_silent(seen: Seen) -> None:
    assert seen["complaints"] == []


def free_ports() -> tuple[int, int]:
    """Two at once, so that they differ. Both programs must know the other's address before it starts."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


@contextmanager
def running(command: list[Any], folder: Path, environ: Mapping[str, str], word: str) -> Iterator[None]:
    """The program, as soon as it has printed the word."""
    log = folder / f"{word}.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, cwd=folder, env=dict(environ), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert any(word in line for line in process.stdout), log.read_text()
            yield
        finally:
            process.kill()
