"""The files and charts of a step, put where whoever asked can fetch them."""

import base64

import msgspec

from rightseat.core.artifacts import Artifacts
from rightseat.core.ask import Ask
from rightseat.plugins.results import Artifact, Result


async def keep(artifacts: Artifacts, ask: Ask, result: Result) -> Result:
    """The result with the ids of what it has made. The content of a file is from here on in the store alone."""
    if not result.artifacts:
        return result
    kept = [await keep_one(artifacts, ask, one) for one in result.artifacts]
    return msgspec.structs.replace(result, artifacts=tuple(kept))


async def keep_one(artifacts: Artifacts, ask: Ask, one: Artifact) -> Artifact:
    content = msgspec.json.encode(one.option) if one.option is not None else base64.b64decode(one.data)
    id = await artifacts.put(ask, one.name, one.media_type, content)
    return msgspec.structs.replace(one, id=id, size=len(content), data="")
