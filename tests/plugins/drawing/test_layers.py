"""Where the boxes of a picture stand."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as some

from rightseat.plugins.drawing.layers import DOWN, Link, lay, spread

NAMES = [f"s{at}" for at in range(9)]
LINKS = some.builds(
    Link,
    some.sampled_from(NAMES),
    some.sampled_from(NAMES),
    some.none() | some.tuples(some.floats(8, 200), some.floats(8, 80)),
).filter(lambda link: link.start != link.end)
SIZES = some.fixed_dictionaries({name: some.tuples(some.floats(40, 300), some.floats(20, 90)) for name in NAMES})


@settings(deadline=None, max_examples=50)
@given(SIZES, some.lists(LINKS, max_size=16))
def test_nothing_stands_over_anything_else(sizes: dict[str, tuple[float, float]], links: list[Link]) -> None:
    laid = lay(sizes, links)

    things = [(laid.centers[name], size) for name, size in sizes.items()]
    things += [(spot, link.label) for spot, link in zip(laid.labels, links, strict=True) if spot and link.label]
    for ((x1, y1), (w1, h1)), ((x2, y2), (w2, h2)) in combinations(things, 2):
        assert abs(x1 - x2) >= (w1 + w2) / 2 - 0.01 or abs(y1 - y2) >= (h1 + h2) / 2 - 0.01
    for (x, y), (w, h) in things:
        assert w / 2 - 0.01 <= x <= laid.width - w / 2 + 0.01
        assert h / 2 - 0.01 <= y <= laid.height - h / 2 + 0.01


@settings(deadline=None, max_examples=50)
@given(SIZES, some.lists(LINKS, max_size=16))
def test_an_arrow_leads_from_its_start_to_its_end(sizes: dict[str, tuple[float, float]], links: list[Link]) -> None:
    laid = lay(sizes, links)

    for link, way in zip(links, laid.ways, strict=True):
        assert (way[0], way[-1]) == (laid.centers[link.start], laid.centers[link.end])
        heights = [y for _, y in way]
        assert heights in (sorted(heights), sorted(heights, reverse=True))


def test_what_follows_stands_below_and_in_a_line() -> None:
    laid = lay(dict.fromkeys("abc", (100.0, 40.0)), [Link("a", "b"), Link("b", "c")])

    assert [laid.centers[name] for name in "abc"] == [(50.0, 20.0), (50.0, 60 + DOWN), (50.0, 100 + 2 * DOWN)]


def test_a_way_back_leads_upwards_and_has_its_words_where_it_begins() -> None:
    links = [Link("a", "b"), Link("b", "c"), Link("c", "a", (50.0, 20.0))]
    laid = lay(dict.fromkeys("abc", (100.0, 40.0)), links)

    spot = laid.labels[2]
    assert spot is not None
    assert laid.centers["a"][1] < laid.centers["b"][1] <= spot[1] < laid.centers["c"][1]
    assert all(lower >= upper for (_, lower), (_, upper) in pairwise(laid.ways[2]))


def test_neighbours_that_collide_move_together() -> None:
    assert spread([0.0, 0.0], [72.0, 72.0]) == [-50.0, 50.0]
    assert spread([0.0, 500.0], [72.0, 72.0]) == [0.0, 500.0]
