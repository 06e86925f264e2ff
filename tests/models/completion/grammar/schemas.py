"""Schemas by chance, as hypothesis strategies: those that people write, and their stranger relatives."""

from typing import Any

from hypothesis import strategies as st

from rightseat.models.completion.grammar import formats

Schema = dict[str, Any] | bool
NAMES = ("a", "b", "city", 'q"', "ü", "x-1")
FORMATS = sorted(formats.PATTERNS)
PATTERNS = (
    "^[a-z]+$",
    "abc",
    r"^\d{3}-\d{4}$",
    r"\S",
    "^(a|bc)*$",
    r"^[^@ ]+@[^@ ]+$",
    "^x",
    "y$",
    "^a|b$",
    r"^(\w+\s?)*$",
    r"^[\w.-]{2,}$",
    '["\\\\]',
    r"^\D\W\S$",
    ".",
    "^(?:[A-F0-9]{2}:){2}",
    r"^\u00e9?\p{L}+$",
    "^$",
)
small = st.integers(-130, 130)
halves = small.map(lambda value: value / 2)
fine = st.integers(-3000, 3000).map(lambda value: value / 1000)
values = st.one_of(st.none(), st.booleans(), small, halves, st.sampled_from(["", "a", 'é"\n', "city"]))


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


def of_type(kind: str, more: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return more.map(lambda rest: {"type": kind, **rest})


lengths = some(minLength=st.integers(0, 12), maxLength=st.integers(0, 30))
strings = of_type(
    "string",
    st.one_of(
        lengths,
        st.tuples(lengths, st.sampled_from(PATTERNS)).map(lambda both: {**both[0], "pattern": both[1]}),
        st.sampled_from(FORMATS).map(lambda name: {"format": name}),
    ),
)
bounds = st.one_of(halves, small, fine)
amounts = some(
    minimum=bounds,
    maximum=bounds,
    exclusiveMinimum=bounds,
    exclusiveMaximum=bounds,
    multipleOf=st.sampled_from([1, 2, 3, 5, 7, 10, 25, 0.5, 0.25, 0.01]),
)
numbers = st.one_of(of_type("integer", amounts), of_type("number", amounts))
listed = st.one_of(
    st.lists(values, min_size=1, max_size=12).map(lambda found: {"enum": found}),
    values.map(lambda value: {"const": value}),
    st.lists(st.sampled_from(["string", "null", "integer", "number", "boolean"]), min_size=1, unique=True).map(
        lambda kinds: {"type": kinds}
    ),
)


def inside(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    names = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
    objects = some(
        properties=named,
        required=names,
        additionalProperties=inner,
        minProperties=st.integers(0, 2),
        maxProperties=st.integers(0, 4),
        propertyNames=st.just({"maxLength": 2}),
        patternProperties=st.dictionaries(st.sampled_from(["^[a-c]", "^x-"]), inner, max_size=1),
        dependentRequired=st.dictionaries(st.sampled_from(NAMES), names, max_size=2),
        dependentSchemas=st.dictionaries(st.sampled_from(NAMES), objects_with(named), max_size=1),
        unevaluatedProperties=st.booleans(),
    )
    arrays = some(
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=3),
        minItems=st.integers(0, 3),
        maxItems=st.integers(0, 5),
        contains=inner,
        minContains=st.integers(0, 2),
        uniqueItems=st.booleans(),
    )
    options = st.lists(inner, min_size=1, max_size=3)
    combined = st.fixed_dictionaries({"anyOf": options}) | st.fixed_dictionaries({"oneOf": options})
    combined |= st.fixed_dictionaries({"allOf": options})
    beside = st.tuples(of_type("object", objects), combined).map(lambda both: {**both[0], **both[1]})
    return st.one_of(of_type("object", objects), of_type("array", arrays), combined, beside)


def objects_with(named: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return some(properties=named, required=st.lists(st.sampled_from(NAMES), unique=True, max_size=1))


def recursive(schema: Schema, reference: str) -> Schema:
    """The same schema behind a name, and referring to itself where it is an object."""
    if isinstance(schema, dict) and schema.get("type") == "object":
        schema = {**schema, "properties": {**schema.get("properties", {}), "again": {"$ref": reference}}}
    return {"$ref": "#/$defs/it", "$defs": {"it": schema}}


plain = st.recursive(st.one_of(strings, numbers, listed, st.booleans()), inside, max_leaves=6)
schemas = st.one_of(plain, plain.map(lambda schema: recursive(schema, "#/$defs/it")))
