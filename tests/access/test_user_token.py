"""The token of whoever is signed in goes along with their own tasks."""

import asyncio

from rightseat.access.user_token import CallerToken, get_caller_token, set_caller_token
from rightseat.core.ask import ANYONE, Principal


async def test_a_token_goes_along_with_the_tasks_that_a_request_begins() -> None:
    async def request(user: str) -> str | None:
        set_caller_token(user, f"token-of-{user}")
        return await asyncio.create_task(run(user))

    async def run(user: str) -> str | None:
        return get_caller_token(Principal(user))

    ann, bob = await asyncio.gather(request("ann"), request("bob"))
    assert (ann, bob) == ("token-of-ann", "token-of-bob")
    assert get_caller_token(ANYONE) is None


async def test_a_task_that_was_begun_for_another_has_no_token() -> None:
    """As one of a session that several requests share."""

    async def session() -> tuple[str | None, str | None]:
        set_caller_token("ann", "token-of-ann")
        return get_caller_token(Principal("bob")), get_caller_token(Principal("ann"))

    assert await asyncio.create_task(session()) == (None, "token-of-ann")


async def test_a_request_without_a_token_does_not_get_the_token_of_the_last_request() -> None:
    async def both() -> str | None:
        set_caller_token("ann", "token-of-ann")
        set_caller_token("ann", None)
        return get_caller_token(Principal("ann"))

    assert await asyncio.create_task(both()) is None


def test_a_token_is_not_in_what_is_printed() -> None:
    assert "secret" not in repr(CallerToken("ann", "secret"))
