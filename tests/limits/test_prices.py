"""What runs cost, by the operator's prices."""

from collections.abc import Sequence

import pytest

from rightseat.core.events import Usage
from rightseat.core.usage import ModelUsage
from rightseat.limits.prices import Price, Prices

PRICES = Prices({"upstream": Price(1.0, 2.0), "gpt-5": Price(4.0, 8.0, cached_input=1.0)})


@pytest.mark.parametrize(
    ("models", "cost"),
    [
        ([ModelUsage("upstream", 3, Usage(33, 21))], 0.000075),
        ([ModelUsage("upstream", 1, Usage(1_000_000, 0, cache_read_tokens=900_000))], 1.0),
        ([ModelUsage("big", 1, Usage(1_000_000, 500_000, cache_read_tokens=200_000), "gpt-5")], 3.2 + 0.2 + 4.0),
        ([ModelUsage("upstream", 1, Usage(1_000_000, 0), "gpt-5")], 1.0),
        ([ModelUsage("upstream", 1, Usage(500_000, 0)), ModelUsage("gpt-5", 1, Usage(250_000, 0))], 1.5),
        ([ModelUsage("upstream", 1, Usage(500_000, 0)), ModelUsage("local", 1)], 0.5),
        ([ModelUsage("upstream", 1, Usage(500_000, 0)), ModelUsage("local", 1, Usage(1, 1))], None),
        ([ModelUsage("upstream", 1)], None),
        ([], None),
    ],
    ids=[
        "by name",
        "cached input costs as much without its own price",
        "by the provider's name, with cached input",
        "the configured name wins",
        "two models",
        "a model without usage",
        "a model without a price",
        "no usage",
        "no calls",
    ],
)
def test_the_cost_is_that_of_the_reported_tokens(models: Sequence[ModelUsage], cost: float | None) -> None:
    assert PRICES.cost(models) == (None if cost is None else pytest.approx(cost, abs=1e-12))


def test_a_free_model_costs_nothing() -> None:
    assert Prices({"local": Price(0.0, 0.0)}).cost([ModelUsage("local", 1, Usage(5, 5))]) == 0.0
