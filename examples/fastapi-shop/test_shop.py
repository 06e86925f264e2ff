"""How the shop is tested: a tool as a function, an answer without HTTP, an approval, and two people over HTTP.

The database is real, the model is scripted, and threads are kept in memory.
"""

import time
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from shop.assistant import copilot, my_orders
from shop.database import Order, Person, open_session
from shop.main import app
from sqlalchemy import select

from rightseat import Principal
from rightseat.testing import ScriptedModel, calls, says

ORDERS = [calls("my_orders"), says("You have orders.")]


@pytest.fixture
def client() -> Iterator[TestClient]:
    with copilot.override(model=ScriptedModel(ORDERS), database="memory"), TestClient(app) as client:
        yield client


def sign_in(client: TestClient, name: str) -> None:
    client.cookies.clear()
    answer = client.post("/sign-in", data={"name": name, "password": "harbour"}, follow_redirects=False)
    assert answer.status_code == 303


def run(client: TestClient, text: str, thread: str = "t1", **more: object) -> str:
    """As a CopilotKit page does. Returns the stream of events."""
    messages = [{"id": text, "role": "user", "content": text}] if text else []
    body = {"threadId": thread, "runId": f"r-{text}", "messages": messages, "tools": [], "context": [], "state": {}}
    answer = client.post("/ai/copilotkit/agent/default/run", json=body | {"forwardedProps": {}} | more)
    return answer.text if answer.status_code == 200 else f"HTTP {answer.status_code}"


class NoOrders:
    async def scalars(self, _: object) -> list[object]:
        return []


@pytest.mark.anyio
async def test_a_tool_is_a_function() -> None:
    assert await my_orders(Principal("1"), NoOrders()) == []  # type: ignore[arg-type]


def test_nobody_gets_in_without_a_session(client: TestClient) -> None:
    assert client.get("/orders").status_code == 401
    assert run(client, "Hello") == "HTTP 401"
    assert client.post("/sign-in", data={"name": "mira", "password": "wrong"}).status_code == 401


def test_everybody_has_orders_and_threads_of_their_own(client: TestClient) -> None:
    sign_in(client, "mira")
    assert "A lamp" in run(client, "Which orders?", "thread-of-mira")
    sign_in(client, "jonas")

    assert "A chair" in run(client, "Which orders?", "thread-of-jonas")
    assert client.get("/ai/copilotkit/threads/thread-of-mira/messages").json().get("messages", []) == []
    assert client.get("/orders").json() == ["A chair"]


def test_an_order_is_cancelled_once_its_owner_agrees(client: TestClient) -> None:
    assert client.portal is not None
    title = f"A desk of {time.time()}"
    order = client.portal.call(add_order, "mira", title)
    sign_in(client, "mira")
    model = ScriptedModel([calls("cancel_order", f'{{"order_id": {order}}}'), says("Done.")])
    with copilot.override(model=model):
        assert "Cancel this order?" in run(client, "Cancel the desk", "t-cancel")
        before = client.get("/orders").json()
        (question,) = client.get("/ai/copilotkit/approvals").json()["approvals"]
        answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
        done = run(client, "", "t-cancel", resume=[answer])

    assert title in before
    assert f"{title} is cancelled." in done
    assert title not in client.get("/orders").json()


async def add_order(name: str, title: str) -> int:
    async with open_session() as session:
        person = await session.scalar(select(Person).where(Person.name == name))
        assert person is not None
        order = Order(person_id=person.id, title=title)
        session.add(order)
        await session.commit()
        return order.id


def test_the_copilot_answers_without_a_client(client: TestClient) -> None:
    sign_in(client, "jonas")

    assert client.post("/summary").json() == "You have orders."
