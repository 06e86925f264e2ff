"""The keys of the section `telemetry`: traces and log lines."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Telemetry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    traces: bool | str = False
    """Send traces over OTLP: `true`, with the address in the variables `OTEL_EXPORTER_OTLP_…`, or the address itself,
    such as `http://localhost:4318/v1/traces`."""
    service_name: str = "rightseat"
    """The name of the server in traces."""
    log_level: Literal["debug", "info", "warning"] = "info"
    """The lowest level of this server's own log lines. At `debug` they hold error texts of model providers, which may
    repeat what a user asked."""
    log_format: Literal["plain", "json"] = "plain"
    """The format of log lines: `plain` for people, `json` for one JSON object per line."""
