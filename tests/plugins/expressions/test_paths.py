import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.types import JsonValue
from rightseat.plugins.expressions import paths
from rightseat.plugins.expressions.paths import InvalidPath, PathNotFound

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
def test_a_path_finds_its_value(text: str, found: JsonValue) -> None:
    assert paths.find(VALUE, paths.parse(text)) == found
    assert paths.format_path(paths.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "position"),
    [("", 0), ("a..b", 2), ("a.", 2), ("a[", 1), ("a[x]", 1), ('a["b]', 1), (".a", 0), ("a b ", 3)],
)
def test_an_invalid_path_is_refused_with_its_position(text: str, position: int) -> None:
    with pytest.raises(InvalidPath) as failure:
        paths.parse(text)

    assert failure.value.position == position


def test_a_path_without_a_value_names_the_existing_keys() -> None:
    with pytest.raises(PathNotFound) as failure:
        paths.find(VALUE, paths.parse("items[0].name"))

    assert failure.value.at == "items[0]"
    assert failure.value.known == ["id", "tags"]


def test_list_elements_without_the_path_are_an_error_null_or_skipped() -> None:
    path = paths.parse("items[*].tags")

    with pytest.raises(PathNotFound):
        paths.find(VALUE, path)
    assert paths.find(VALUE, path, "null") == [["a", "b"], None]
    assert paths.find(VALUE, path, "skip") == [["a", "b"]]


@given(st.text(alphabet='ab.[]*"-0\\ \n中', max_size=30))
def test_the_path_parser_raises_no_other_error_for_any_text(text: str) -> None:
    path = parsed(text)

    if path is not None:
        assert paths.parse(paths.format_path(path)) == path
        paths.get(VALUE, path)


def parsed(text: str) -> paths.ValuePath | None:
    try:
        return paths.parse(text)
    except InvalidPath as error:
        if not 0 <= error.position <= len(text):
            raise
    return None
