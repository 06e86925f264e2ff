"""Sources shown to the model, which it may cite."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rightseat.data.documents import ParsedDocument


@dataclass(slots=True, kw_only=True)
class CitationSource:
    """A source of data. `label` is its name for the model.

    `is_fresh`: read for the current question. `documents` have words with positions. `split_param` names the argument
    whose values Workspace wants cited one by one; `extra_citations` came with the data.
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
    split_param: str | None = None
    extra_citations: tuple[Mapping[str, Any], ...] = ()
    citable: bool = True
    is_fresh: bool = True
    has_failed: bool = False
    documents: "list[ParsedDocument]" = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Data short enough to be shown unchanged, for tools that reuse it."""
