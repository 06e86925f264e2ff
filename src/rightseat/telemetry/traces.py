"""Spans for OpenTelemetry, sent to a collector over OTLP. No text of a conversation is in them."""

from typing import Self

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

from rightseat.core.observing import Attributes, Kind, Span, Value
from rightseat.telemetry import names

KINDS: dict[Kind, SpanKind] = {"run": SpanKind.SERVER, "model": SpanKind.CLIENT}


class Traces:
    """`core.observing.Observer`. The variables `OTEL_…` hold where the configuration says nothing."""

    def __init__(self, endpoint: str | None, service: str, version: str) -> None:
        resource = Resource.create({"service.name": service, "service.version": version})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("rightseat", version)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._provider.shutdown()

    def begin(self, kind: Kind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        above = trace.set_span_in_context(parent.span) if isinstance(parent, Traced) else None
        return Traced(
            self._tracer.start_span(
                names.title(kind, name),
                context=above,
                kind=KINDS.get(kind, SpanKind.INTERNAL),
                attributes=names.attributes(kind, name, attributes),
            )
        )


class Traced:
    def __init__(self, span: trace.Span) -> None:
        self.span = span

    def note(self, **attributes: Value) -> None:
        for name, value in names.noted(attributes):
            self.span.set_attribute(name, value)
        if error := attributes.get("error"):
            self.span.set_status(Status(StatusCode.ERROR, str(error)))

    def end(self, error: str | None = None) -> None:
        if error is not None:
            self.note(error=error)
        self.span.end()
