"""The token of whoever is signed in goes along with their own tasks."""

import asyncio

from rightseat.core.acting import Signed, sign, token_of
from rightseat.core.ask import ANYONE, Principal


async def test_a_token_goes_along_with_the_tasks_that_a_request_begins() -> None:
    async def request(user: str) -> str | None:
        sign(user, f"token-of-{user}")
        return await asyncio.create_task(run(user))

    async def run(user: str) -> str | None:
        return token_of(Principal(user))

    ann, bob = await asyncio.gather(request("ann"), request("bob"))
    assert (ann, bob) == ("token-of-ann", "token-of-bob")
    assert token_of(ANYONE) is None


async def test_a_task_that_was_begun_for_another_has_no_token() -> None:
    """As one of a session that several requests share."""

    async def session() -> tuple[str | None, str | None]:
        sign("ann", "token-of-ann")
        return token_of(Principal("bob")), token_of(Principal("ann"))

    assert await asyncio.create_task(session()) == (None, "token-of-ann")


async def test_who_comes_without_a_token_does_not_have_the_last_one() -> None:
    async def both() -> str | None:
        sign("ann", "token-of-ann")
        sign("ann", None)
        return token_of(Principal("ann"))

    assert await asyncio.create_task(both()) is None


def test_a_token_is_not_in_what_is_printed() -> None:
    assert "secret" not in repr(Signed("ann", "secret"))
