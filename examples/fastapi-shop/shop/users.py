"""Who is signed in. The shop has its own sessions; the copilot asks the same functions as the routes."""

import hashlib
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import RedirectResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from rightseat import Principal
from shop.database import Person, get_session

router = APIRouter()
Database = Annotated[AsyncSession, Depends(get_session)]


def hash_password(password: str, salt: bytes | None = None) -> tuple[bytes, bytes]:
    """The salt and the hash."""
    salt = salt or secrets.token_bytes(16)
    return salt, hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)


async def current_person(request: Request, session: Database) -> Person:
    person = await session.get(Person, request.session.get("person", 0))
    if person is None:
        raise HTTPException(401, "Sign in first.")
    return person


async def principal(person: Annotated[Person, Depends(current_person)]) -> Principal:
    """For `Copilot(authenticate=…)`: the person owns threads, runs, files and approvals."""
    return Principal(str(person.id), claims={"name": person.name})


@router.post("/sign-in")
async def sign_in(
    request: Request, session: Database, name: Annotated[str, Form()], password: Annotated[str, Form()]
) -> RedirectResponse:
    person = await session.scalar(select(Person).where(Person.name == name))
    _, found = hash_password(password, person.salt if person else None)
    if person is None or not secrets.compare_digest(found, person.password):
        raise HTTPException(401, "This name and password do not fit.")
    request.session["person"] = person.id
    return RedirectResponse("/", 303)


@router.post("/sign-out")
async def sign_out(request: Request) -> RedirectResponse:
    request.session.clear()
    return RedirectResponse("/", 303)
