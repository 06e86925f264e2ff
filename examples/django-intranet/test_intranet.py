"""How the intranet is tested: a tool as a function, an approval without HTTP, and two people over HTTP."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = tempfile.TemporaryDirectory()
os.environ["INTRANET_DATABASE"] = str(Path(FOLDER.name) / "intranet.sqlite3")
os.environ["INTRANET_STATE"] = str(Path(FOLDER.name) / "state")

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from intranet.asgi import application  # noqa: E402 - it sets Django up
from intranet.assistant import copilot, open_tickets  # noqa: E402
from intranet.models import Ticket  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

from rightseat import Principal  # noqa: E402
from rightseat.testing import ScriptedModel, calls, says  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def people() -> dict[str, int]:
    call_command("migrate", verbosity=0)
    found = {}
    for name, title in (("mira", "New chair"), ("jonas", "Broken lamp")):
        person = get_user_model().objects.create_user(name, password="harbour")
        Ticket.objects.create(owner=person, title=title)
        found[name] = person.pk
    return found


@pytest.fixture
def client() -> Iterator[TestClient]:
    model = ScriptedModel([calls("open_tickets"), says("Here they are.")])
    with copilot.override(model=model, database="memory"), TestClient(application) as client:
        yield client


def sign_in(client: TestClient, name: str) -> None:
    """With Django's own test client, whose cookie the copilot understands."""
    django = Client()
    assert django.login(username=name, password="harbour")
    client.cookies.clear()
    client.cookies.set("sessionid", django.cookies["sessionid"].value)


def run(client: TestClient, text: str, thread: str) -> str:
    """As a CopilotKit page does. Returns the stream of events."""
    messages = [{"id": text, "role": "user", "content": text}]
    body = {"threadId": thread, "runId": f"r-{thread}", "messages": messages, "tools": [], "context": [], "state": {}}
    answer = client.post("/ai/copilotkit/agent/default/run", json=body | {"forwardedProps": {}})
    return answer.text if answer.status_code == 200 else f"HTTP {answer.status_code}"


def test_a_tool_is_a_function(people: dict[str, int]) -> None:
    assert [title.partition(": ")[2] for title in open_tickets(Principal(str(people["mira"])))] == ["New chair"]


def test_a_ticket_is_closed_once_its_owner_agrees(people: dict[str, int]) -> None:
    ticket = Ticket.objects.create(owner_id=people["mira"], title="Old desk")
    model = ScriptedModel([calls("close_ticket", f'{{"ticket_id": {ticket.pk}}}'), says("Done.")])

    async def close() -> None:
        async with copilot:
            asked = await copilot.ask("Close it", user=str(people["mira"]))
            assert [question.message for question in asked.questions] == ["Close this ticket?"]
            done = await asked.approve()
            assert [call.result for call in done.tool_calls] == [f"Ticket {ticket.pk} is closed."]

    with copilot.override(model=model, database="memory"):
        asyncio.run(close())

    ticket.refresh_from_db()
    assert not ticket.is_open


def test_nobody_gets_in_without_a_session(client: TestClient) -> None:
    assert run(client, "Hello", "t-nobody") == "HTTP 401"
    assert client.get("/ai/operator/threads").status_code == 401
    assert client.get("/", follow_redirects=False).headers["location"] == "/sign-in?next=/"


def test_everybody_has_tickets_and_threads_of_their_own(client: TestClient) -> None:
    sign_in(client, "mira")
    assert "New chair" in run(client, "Which tickets?", "thread-of-mira")
    assert "New chair" in client.get("/").text
    sign_in(client, "jonas")

    assert "Broken lamp" in run(client, "Which tickets?", "thread-of-jonas")
    assert client.get("/ai/copilotkit/threads/thread-of-mira/messages").json().get("messages", []) == []


def test_the_console_has_djangos_users(client: TestClient, people: dict[str, int]) -> None:
    sign_in(client, "jonas")

    assert client.get("/ai/console/").status_code == 200
    assert client.get("/ai/operator/me").json()["user"] == str(people["jonas"])
