import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.values import JsonValue
from rightseat.plugins import paths
from rightseat.plugins.paths import BadPath, NotThere

VALUE: JsonValue = {
    "items": [{"id": 1, "tags": ["a", "b"]}, {"id": 2}],
    "a.b": {"c": 3},
    "0": "zero",
    "内容": {"x-y": None},
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("items[0].id", 1),
        ("items[-1].id", 2),
        ("items.1.id", 2),
        ("items[*].id", [1, 2]),
        ('["a.b"].c', 3),
        ("0", "zero"),
        ("内容.x-y", None),
        ("items[0].tags[*]", ["a", "b"]),
    ],
)
def test_a_path_leads_to_a_value(text: str, found: JsonValue) -> None:
    assert paths.find(VALUE, paths.parse(text)) == found
    assert paths.written(paths.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "position"),
    [("", 0), ("a..b", 2), ("a.", 2), ("a[", 1), ("a[x]", 1), ('a["b]', 1), (".a", 0), ("a b ", 3)],
)
def test_a_wrong_path_says_where_it_is_wrong(text: str, position: int) -> None:
    with pytest.raises(BadPath) as failure:
        paths.parse(text)

    assert failure.value.position == position


def test_a_path_that_leads_nowhere_says_what_is_there() -> None:
    with pytest.raises(NotThere) as failure:
        paths.find(VALUE, paths.parse("items[0].name"))

    assert failure.value.at == "items[0]"
    assert failure.value.known == ["id", "tags"]


def test_elements_without_the_rest_of_a_path_are_an_error_a_null_or_left_out() -> None:
    path = paths.parse("items[*].tags")

    with pytest.raises(NotThere):
        paths.find(VALUE, path)
    assert paths.find(VALUE, path, "null") == [["a", "b"], None]
    assert paths.find(VALUE, path, "skip") == [["a", "b"]]


@given(st.text(alphabet='ab.[]*"-0\\ \n中', max_size=30))
def test_no_text_makes_the_parser_raise_anything_else(text: str) -> None:
    path = parsed(text)

    if path is not None:
        assert paths.parse(paths.written(path)) == path
        paths.get(VALUE, path)


def parsed(text: str) -> paths.Path | None:
    try:
        return paths.parse(text)
    except BadPath as error:
        if not 0 <= error.position <= len(text):
            raise
    return None
