"""What the configuration may say about what the server tells of itself."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Telemetry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    traces: bool | str = False
    """Whether to send traces over OTLP, or the address to send them to, such as `http://localhost:4318/v1/traces`.
    With `true` the variables `OTEL_EXPORTER_OTLP_…` say where."""
    service: str = "rightseat"
    """What the server is called in traces."""
    logs: Literal["plain", "json"] = "plain"
    """How log lines are written: for people, or as one JSON object each."""
