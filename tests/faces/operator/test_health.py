"""The checks of this server, as the console asks for them."""

from typing import Any

from rightseat.access.authenticator import Authenticator
from rightseat.access.keys import Keys
from rightseat.limits.store import UsageQuery
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, Server, serving
from tests.faces.operator.test_rights import KEYS, User
from tests.services import free_port


async def find_checks(server: Server | User, id: str, query: str = "") -> list[dict[str, Any]]:
    get = server.get if isinstance(server, User) else server.client.get
    path = "health" if isinstance(server, User) else "/operator/health"
    answer = await get(path + query)
    assert answer.status_code == 200, answer.text
    return [check for check in answer.json() if check["id"] == id]


async def test_models_are_asked_only_in_a_deep_check(serve: Serve) -> None:
    async with serving(serve) as server:
        before = await find_checks(server, "model")
        [default, _] = await find_checks(server, "model", "?deep")

    assert [check["state"] for check in before] == ["note", "note"]
    assert "not asked yet" in before[0]["detail"]
    assert [default["subject"], default["state"]] == ["models.default", "fine"]


async def test_deep_checks_of_all_keys_share_one_round_of_calls_which_is_in_the_usage_report(serve: Serve) -> None:
    limits = "\nlimits: [{name: day, subject: everyone, tokens_per_day: 100_000}]\n"
    async with serving(serve, CONFIGURATION + KEYS + limits) as server:
        answers = [await User(server, name).get("health?deep") for name in ("wu", "olga", "wu")]
        metering = server.assembly.metering
        assert metering is not None
        rows = await metering.ledger.store.usage(UsageQuery(("user", "model", "purpose")))

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [int(answer.headers["age"]) < 30 for answer in answers] == [True] * 3
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert {row.group for row in rows} == {("wu", model, "health") for model in server.assembly.runtime.models}
    assert all(row.counts.requests == 0 and row.counts.tokens > 0 for row in rows)


async def test_a_model_is_not_asked_beyond_a_budget(serve: Serve) -> None:
    limits = "\nlimits: [{name: day, subject: everyone, tokens_per_day: 10}]\n"
    async with serving(serve, CONFIGURATION + KEYS + limits) as server:
        found = await find_checks(User(server, "wu"), "model", "?deep")

    assert {check["state"] for check in found} == {"note"}
    assert all("not asked. " in check["detail"] and "'day'" in check["detail"] for check in found)


async def test_a_model_that_cannot_be_reached_is_broken_and_has_a_fix(serve: Serve) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    model = f"dead: {{type: openai, model: m, base_url: '{url}', api_key: canary-key}}"
    async with serving(serve, CONFIGURATION.replace("models: {", f"models: {{{model}, ")) as server:
        found = {check["subject"]: check for check in await find_checks(server, "model", "?deep")}

    dead = found["models.dead"]
    assert dead["state"] == "broken"
    assert url in dead["detail"]
    assert dead["fix"] == {"text": "Start the model server, or correct models.dead.base_url."}


async def test_faces_are_tried_with_a_key_that_is_not_valid_afterwards(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        authenticator = server.assembly.authenticator
        assert authenticator is not None
        [face] = await find_checks(User(server, "olga"), "face")
        with authenticator.lend_key("health checks") as key:
            inside = await server.client.get("/operator/me", headers={"authorization": f"Bearer {key}"})
        outside = await server.client.get("/operator/me", headers={"authorization": f"Bearer {key}"})

    assert face["state"] == "fine"
    assert "GET /operator/me works" in face["detail"]
    assert [inside.status_code, outside.status_code] == [200, 401]


def test_a_lent_key_is_removed_also_if_the_block_fails() -> None:
    keys = Keys()
    try:
        with Authenticator(keys).lend_key("health checks"):
            raise LookupError
    except LookupError:
        assert len(keys) == 0


async def test_health_needs_the_right_to_watch_all_agents(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        statuses = {name: (await User(server, name).get("health")).status_code for name in ("alice", "slow", "wu")}

    assert statuses == {"alice": 403, "slow": 403, "wu": 200}


async def test_the_check_of_the_port_names_this_server(serve: Serve) -> None:
    async with serving(serve) as server:
        [port] = await find_checks(server, "port")

    assert port["state"] == "fine"
    assert "is running at" in port["detail"]
