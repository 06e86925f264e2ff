"""docs/reference/operator.openapi.json, made from the structs that the operator API answers with."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rightseat.faces._shared.feedback import FeedbackLine
from rightseat.faces.operator import Refusal
from rightseat.faces.operator.access import AccessLine, CreatedKey
from rightseat.faces.operator.annotations import AnnotationPage
from rightseat.faces.operator.approvals import ApprovalLine
from rightseat.faces.operator.audit_trail import AuditPage
from rightseat.faces.operator.connect import FaceLine
from rightseat.faces.operator.evals import DatasetList
from rightseat.faces.operator.failures import FailureList
from rightseat.faces.operator.feedback import VoteCounts, VotePage
from rightseat.faces.operator.flows import FlowLine
from rightseat.faces.operator.health import CheckLine
from rightseat.faces.operator.memories import MemoryPage
from rightseat.faces.operator.metric_series import MetricsLine
from rightseat.faces.operator.model_calls import ModelCallPage
from rightseat.faces.operator.run_line import StartedRun, StoppedRun
from rightseat.faces.operator.runs import AgentLine, RunDetails, RunPage
from rightseat.faces.operator.session import SignedInUser, SignedOut
from rightseat.faces.operator.setup import ProposedFile, SetupChoices, WrittenFile
from rightseat.faces.operator.snippet import Snippet
from rightseat.faces.operator.threads import ThreadDetails, ThreadLine, ThreadPage
from rightseat.faces.operator.usage_sums import LimitsLine, UsageLine
from rightseat.operations.evals import PinnedLine
from rightseat.operations.flows import FlowGraph
from rightseat.operations.reruns import RerunForm, RerunOutcome
from rightseat.operations.workbench import CaseOutcome, DraftReport, NewPlugin, PluginReport

FILE = Path(__file__).parents[2] / "docs" / "reference" / "operator.openapi.json"
REF = "#/components/schemas/{name}"
RESPONSES: dict[str, tuple[str, Any]] = {
    "GET me": ("200", SignedInUser),
    "DELETE session": ("200", SignedOut),
    "GET agents": ("200", list[AgentLine]),
    "POST agents/{agent:path}/runs": ("202", StartedRun),
    "GET threads": ("200", ThreadPage),
    "GET threads/{thread}": ("200", ThreadDetails),
    "PATCH threads/{thread}": ("200", ThreadLine),
    "GET runs": ("200", RunPage),
    "GET runs/{run}": ("200", RunDetails),
    "POST runs/{run}/stop": ("200", StoppedRun),
    "GET feedback": ("200", VotePage),
    "GET feedback/counts": ("200", VoteCounts),
    "GET memories": ("200", MemoryPage),
    "GET annotations": ("200", AnnotationPage),
    "POST feedback": ("200", FeedbackLine),
    "POST runs/{run}/pin": ("201", PinnedLine),
    "GET runs/{run}/calls": ("200", ModelCallPage),
    "GET runs/{run}/rerun": ("200", RerunForm),
    "GET evals": ("200", DatasetList),
    "GET approvals": ("200", list[ApprovalLine]),
    "POST approvals/{interrupt}": ("202", StartedRun),
    "GET flows": ("200", list[FlowLine]),
    "GET flows/{plugin}/{flow}": ("200", FlowGraph),
    "GET plugins": ("200", list[PluginReport]),
    "POST plugins": ("201", NewPlugin),
    "GET plugins/{plugin}": ("200", PluginReport),
    "PUT plugins/{plugin}/files/{path:path}": ("200", PluginReport),
    "POST drafts/check": ("200", DraftReport),
    "POST drafts/cases": ("200", list[CaseOutcome]),
    "GET metrics": ("200", MetricsLine),
    "GET usage": ("200", UsageLine),
    "GET usage/limits": ("200", LimitsLine),
    "GET snippets": ("200", list[FaceLine]),
    "GET snippets/{face}": ("200", list[Snippet]),
    "GET failures": ("200", FailureList),
    "GET health": ("200", list[CheckLine]),
    "GET access": ("200", AccessLine),
    "POST access/keys": ("201", CreatedKey),
    "POST access/keys/{name:path}/rotate": ("200", CreatedKey),
    "GET audit": ("200", AuditPage),
    "GET setup": ("200", SetupChoices),
    "POST setup/check": ("200", ProposedFile),
    "POST setup/write": ("202", WrittenFile),
}
"""By method and path, as in the routes of the face."""
WITHOUT_JSON = {
    "POST session": "no body",
    "DELETE threads/{thread}": "no body",
    "DELETE memories/{memory}": "no body",
    "POST access/keys/{name:path}/revoke": "no body",
    "POST access/keys/{name:path}/restore": "no body",
    "GET runs/{run}/entries": "a line for each entry",
    "POST drafts/try": "a line for each event",
    "POST runs/{run}/rerun": "a line for each event, and one for the outcome",
    "GET live": "server-sent events",
    "GET files/{file}": "a file",
    "GET plugins/{plugin}/files/{path:path}": "a file",
}


def list_structs(kind: type[msgspec.Struct] = msgspec.Struct) -> Iterator[type[msgspec.Struct]]:
    yield kind
    for below in kind.__subclasses__():
        yield from list_structs(below)


OMITTING = {one.__name__ for one in list_structs() if one.__struct_config__.omit_defaults}


def generate() -> dict[Path, str]:
    return {FILE: json.dumps(build(), indent=2, ensure_ascii=False) + "\n"}


def build() -> dict[str, Any]:
    kinds = [*(kind for _, kind in RESPONSES.values()), Refusal, RerunOutcome]
    (*schemas, refusal, _), components = msgspec.json.schema_components(kinds, ref_template=REF)
    error = {"description": "An error.", "content": {"application/json": {"schema": refusal}}}
    paths: dict[str, dict[str, Any]] = {}
    for (route, (status, _)), schema in zip(RESPONSES.items(), schemas, strict=True):
        method, path = route.split(" ")
        path = "/" + path.replace(":path}", "}")
        parameters = [
            {"name": one[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
            for one in path.split("/")
            if one.startswith("{")
        ]
        answer = {"description": "The answer.", "content": {"application/json": {"schema": schema}}}
        paths.setdefault(path, {})[method.lower()] = {
            "parameters": parameters,
            "responses": {status: answer, "default": error},
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "The operator API of rightseat", "version": "1"},
        "servers": [{"url": "/operator"}],
        "paths": paths,
        "components": {"schemas": {name: complete(name, one) for name, one in components.items()}},
    }


def complete(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Answers have every field, also those with a default value, unless the struct omits these."""
    schema = {name: value for name, value in schema.items() if name != "title"}
    if "description" in schema:
        schema["description"] = " ".join(schema["description"].split())
    if "properties" in schema:
        fields = schema["properties"].items()
        schema["properties"] = {
            name: {key: value for key, value in one.items() if key != "default"} for name, one in fields
        }
        if name not in OMITTING:
            schema["required"] = list(schema["properties"])
    return schema
