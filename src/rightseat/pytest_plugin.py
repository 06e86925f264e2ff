"""The pytest fixture `scripted_model`, which pytest finds wherever rightseat is installed."""

from collections.abc import Iterator

import pytest

from rightseat.limits.model_doubles import PROCESS_DOUBLES
from rightseat.testing import ScriptedModel, forbid_models, says


@pytest.fixture
def scripted_model() -> Iterator[ScriptedModel]:
    """Answers instead of the models of all copilots, whose threads are in memory during the test.

    `scripted_model.responses(calls("double"), says("It is 42."))` sets its responses.
    """
    model = ScriptedModel([says("Hello.")])
    with forbid_models():
        PROCESS_DOUBLES.model, PROCESS_DOUBLES.storage = model, object()
        try:
            yield model
        finally:
            PROCESS_DOUBLES.model = PROCESS_DOUBLES.storage = None
