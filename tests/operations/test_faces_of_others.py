"""A face of another package can read nothing of other users, unless it asks for `operations` and has the rights."""

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import httpx2
import pytest

from rightseat import app, config, faces
from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.operations.service import Operations
from tests.acme import curious_face, operator_face
from tests.conftest import serving

ALICE = Principal("alice")
CONFIG = """
models: {default: {type: scripted, chunk_delay: 0}}
threads: {type: memory}
log: {type: memory}
server: {state_dir: FOLDER}
access: {keys: [{name: alice, key: key-alice, user: alice}, {name: eve, key: key-eve, user: eve}]}
faces: [{type: tests.acme.curious_face}, {type: tests.acme.operator_face}]
"""


def assemble(folder: Path) -> app.Assembly:
    return app.assemble(config.parse(CONFIG.replace("FOLDER", str(folder)), environ={}))


async def seed(assembly: app.Assembly) -> None:
    ask = await assembly.runtime.start(Ask(messages=(user("Hi"),), agent="default", principal=ALICE))
    async for _ in assembly.runtime.follow(ask.run_id):
        pass


def test_of_our_own_faces_the_operators_is_the_only_one_that_asks_for_operations() -> None:
    modules = [import_module(f"rightseat.faces.{one.name}") for one in pkgutil.iter_modules(faces.__path__)]
    with_routes = {module.__name__.rpartition(".")[2]: module.routes for module in modules if hasattr(module, "routes")}
    asking = {name for name, routes in with_routes.items() if "operations" in inspect.signature(routes).parameters}

    assert len(with_routes) > 8
    assert asking == {"operator"}


async def test_a_face_that_asks_for_nothing_cannot_list_what_other_users_did(tmp_path: Path) -> None:
    assembly = assemble(tmp_path)
    async with assembly.opened():
        await seed(assembly)
        app.build_router(assembly)
        (runtime,) = curious_face.RECEIVED

        assert runtime is assembly.runtime
        for attempt in curious_face.ATTEMPTS.values():
            with pytest.raises((AttributeError, TypeError, AssertionError)):
                await attempt(runtime)


async def test_a_face_that_asks_for_operations_gets_an_error_for_a_user_without_rights(tmp_path: Path) -> None:
    assembly = assemble(tmp_path)
    application = app.application(assembly, config.parse(CONFIG.replace("FOLDER", str(tmp_path)), environ={}).server)
    async with serving(application) as url, httpx2.AsyncClient(base_url=url) as client:
        await seed(assembly)
        eve, alice = {"x-api-key": "key-eve"}, {"x-api-key": "key-alice"}
        all_users = await client.get("/acme/threads", headers=eve)
        of_alice = await client.get("/acme/threads", params={"user": "alice"}, headers=eve)
        own = await client.get("/acme/threads", params={"user": "eve"}, headers=eve)
        alices = await client.get("/acme/threads", params={"user": "alice"}, headers=alice)
        unknown = await client.get("/acme/threads")

    assert (all_users.status_code, all_users.json()) == (403, {"error": "insufficient_scope"})
    assert (of_alice.status_code, of_alice.json()) == (403, {"error": "insufficient_scope"})
    assert (own.status_code, own.json()) == (200, [])
    assert (alices.status_code, alices.json()) == (200, ["alice"])
    assert unknown.status_code == 401


async def test_no_list_can_be_called_without_an_operator(tmp_path: Path) -> None:
    operations = assemble(tmp_path).operations

    assert isinstance(operations, Operations)
    with pytest.raises(TypeError):
        await operator_face.list_without_operator(operations)
