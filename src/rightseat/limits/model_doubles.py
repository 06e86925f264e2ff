"""Models that tests put in the place of configured ones, for one assembly or for the whole process.

They are attributes and no context variables: a test replaces the model of a server that runs in another thread.
"""

from dataclasses import dataclass

from rightseat.core.errors import RightseatError
from rightseat.core.model import Model


class ModelForbidden(RightseatError):
    code = "model_forbidden"
    status = 500

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A test would call the model {name!r}. Replace it with `copilot.override(model=ScriptedModel(…))`, or "
            "with the fixture `scripted_model`."
        )


@dataclass(slots=True)
class ModelDoubles:
    """`model` answers instead of every configured model. Without one and with `is_forbidden`, none is called.

    While `storage` is an object, copilots that are opened have their threads in memory: the same for the same object.
    """

    model: Model | None = None
    is_forbidden: bool = False
    storage: object = None


PROCESS_DOUBLES = ModelDoubles()
"""Those of all copilots of this process. State of the process, because a test does not know all of its copilots; only
`rightseat.testing` sets it."""


def find_double(doubles: ModelDoubles) -> Model | None:
    """The model that answers for one of an assembly with these doubles; None for the model itself."""
    return doubles.model or PROCESS_DOUBLES.model


def check_forbidden(doubles: ModelDoubles, model: Model, name: str) -> None:
    """Raises `ModelForbidden`. Models that say that they are doubles may be called."""
    if (doubles.is_forbidden or PROCESS_DOUBLES.is_forbidden) and not getattr(model, "is_double", False):
        raise ModelForbidden(name)
