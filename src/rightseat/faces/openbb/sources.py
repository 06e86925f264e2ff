"""What the model was shown and may cite."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rightseat.data.documents import Document


@dataclass(slots=True, kw_only=True)
class Source:
    """Something that the model was shown, and may be cited. `label` is what the model calls it by.

    `fresh` was read for this very question. `documents` have words and their places, where there are such. `split`
    names the argument whose values Workspace wants cited one by one; `passed_on` are citations that came with the data.
    """

    kind: Literal["widget", "artifact", "web", "direct retrieval"]
    name: str
    label: str = ""
    uuid: str | None = None
    origin: str | None = None
    widget_id: str | None = None
    description: str | None = None
    arguments: Mapping[str, Any] | None = None
    link: str | None = None
    split: str | None = None
    passed_on: tuple[Mapping[str, Any], ...] = ()
    citable: bool = True
    fresh: bool = True
    failed: bool = False
    documents: "list[Document]" = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Data that was short enough to be shown as it is, for tools that use it again."""
