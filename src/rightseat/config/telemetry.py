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
    level: Literal["debug", "info", "warning"] = "info"
    """From which level on this server's own log lines are written. At `debug` they hold what servers of models say of
    an error, which may repeat what a person asked."""
    logs: Literal["plain", "json"] = "plain"
    """How log lines are written: for people, or as one JSON object each."""
