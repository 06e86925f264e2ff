"""Sends OpenTelemetry spans to a collector over OTLP. They hold no text of conversations."""

from typing import Self

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

from rightseat.core.tracing import Attributes, AttributeValue, Span, TraceKind
from rightseat.telemetry import names

KINDS: dict[TraceKind, SpanKind] = {"run": SpanKind.SERVER, "model": SpanKind.CLIENT}


class Traces:
    """A `core.tracing.Observer`. The variables `OTEL_…` apply where the configuration sets nothing."""

    def __init__(self, endpoint: str | None, service: str, version: str) -> None:
        resource = Resource.create({"service.name": service, "service.version": version})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("rightseat", version)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._provider.shutdown()

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        context = trace.set_span_in_context(parent.span) if isinstance(parent, OtelSpan) else None
        return OtelSpan(
            self._tracer.start_span(
                names.span_name(kind, name),
                context=context,
                kind=KINDS.get(kind, SpanKind.INTERNAL),
                attributes=names.span_attributes(kind, name, attributes),
            )
        )


class OtelSpan:
    def __init__(self, span: trace.Span) -> None:
        self.span = span

    def note(self, **attributes: AttributeValue) -> None:
        for name, value in names.map_attributes(attributes):
            self.span.set_attribute(name, value)
        if error := attributes.get("error"):
            self.span.set_status(Status(StatusCode.ERROR, str(error)))

    def mark_first_chunk(self) -> None:
        self.span.add_event(names.FIRST_CHUNK)

    def end(self, error: str | None = None) -> None:
        if error is not None:
            self.note(error=error)
        self.span.end()
