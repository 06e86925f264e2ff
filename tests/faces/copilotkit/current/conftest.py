"""The two ways to a face, for every test that could tell them apart."""

import pytest

from tests.faces.copilotkit.serving import Way


@pytest.fixture(params=["ours", "somebody's"])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found
