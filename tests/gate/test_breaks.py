"""The broken builds of the security suite can be made: they are played by hand, and would go stale unnoticed."""

import pytest

from tests.acceptance.security.breaks import BREAKS, ROOT, Break, count_places


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_the_text_that_a_break_replaces_is_in_its_file_once(broken: Break) -> None:
    assert count_places(broken, ROOT / "src") == 1
