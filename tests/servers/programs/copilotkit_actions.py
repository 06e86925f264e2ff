"""The actions of both CopilotKit endpoints."""

user_id = {"name": "userId", "type": "string", "description": "Whose.", "required": True}


async def name_of(userId: str):
    return {"name": f"User_{userId}"}


async def explode():
    raise RuntimeError("kaboom in /srv/secret.py")
