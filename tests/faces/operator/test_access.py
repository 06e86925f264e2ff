"""Keys, tokens and origins, as the console lists them."""

from rightseat.access.keys import digest, generate, prefix_of
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, serving
from tests.faces.operator.test_rights import KEYS, User


async def test_keys_are_listed_by_name_and_prefix_without_the_key_or_its_hash(serve: Serve) -> None:
    key = generate()
    made = f"    - {{name: made, prefix: {prefix_of(key)}, hash: {digest(key)}}}\n"
    async with serving(serve, CONFIGURATION + KEYS + made) as server:
        answer = await User(server, "wu").get("access")

    keys = {one["name"]: one for one in answer.json()["keys"]}
    assert keys["wu"] == {"name": "wu", "prefix": None, "user": "wu", "scopes": ["operator.watch:*"]}
    assert keys["made"] == {"name": "made", "prefix": prefix_of(key), "user": "key:made", "scopes": ["*"]}
    assert "key-wu" not in answer.text
    assert digest(key) not in answer.text


async def test_a_server_without_keys_says_that_only_this_machine_reaches_it(serve: Serve) -> None:
    async with serving(serve) as server:
        answer = (await server.client.get("/operator/access")).json()

    assert [answer["keys"], answer["jwt"], answer["is_local"]] == [[], None, True]


async def test_the_list_needs_the_right_to_watch_all_agents(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        statuses = {name: (await User(server, name).get("access")).status_code for name in ("alice", "slow", "wu")}

    assert statuses == {"alice": 403, "slow": 403, "wu": 200}
