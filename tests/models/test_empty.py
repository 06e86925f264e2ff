"""No model at all."""

import pytest

from rightseat import app, config
from rightseat.core.errors import NotConfigured
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.models.empty import Options, build


def test_a_call_of_the_empty_model_names_the_cure() -> None:
    with pytest.raises(NotConfigured, match="configure a model such as `type: openai`"):
        build(Options()).stream(Prompt((user("Hi"),)))


def test_a_server_can_be_built_without_a_model() -> None:
    assert app.assemble(config.parse("models: {default: {type: empty}}")).owned
