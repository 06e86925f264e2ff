"""Reads the rows of a statement into a struct or a named tuple, by the names of its fields."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement

Record = TypeVar("Record")
Converter = Callable[[Any], Any]


class StructRows(Generic[Record]):
    """`fields` are the fields of the struct, with the column of each; those that are left out keep their default.

    A statement selects `columns`, first and in this order, and `read` takes its rows. `converters` change what the
    database has for a field.
    """

    def __init__(
        self,
        struct: type[Record],
        fields: Mapping[str, ColumnElement[Any]],
        converters: Mapping[str, Converter] | None = None,
    ) -> None:
        """Raises `TypeError` if the struct has no such field, or no default for one that is left out."""
        self.columns = tuple(column.label(name) for name, column in fields.items())
        self._struct = struct
        self._names = tuple(fields)
        self._converters = tuple((converters or {}).items())
        known = {name: one.default is one.empty for name, one in signature(struct).parameters.items()}
        unknown = [name for name in (*fields, *(converters or ())) if name not in known]
        missing = [name for name, is_required in known.items() if is_required and name not in fields]
        if unknown or missing:
            raise TypeError(f"The rows of {struct.__name__} have unknown fields {unknown}, and lack {missing}.")

    def read(self, row: Sequence[Any]) -> Record:
        """A row of SQLAlchemy or of a driver. Columns after those of the fields are left out."""
        values = dict(zip(self._names, row, strict=False))
        for name, convert in self._converters:
            values[name] = convert(values[name])
        return self._struct(**values)
