"""The questions that a flow asks people: texts, schemas and the interrupt that carries the checkpoint."""

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from rightseat.core.events import Interrupt
from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.plugins.expressions.templates import format_value
from rightseat.plugins.flows.checkpoint import FlowCheckpoint
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.operations.validation import MISSING
from rightseat.plugins.slots import FilledSlots

INPUT, UNKNOWN = "input_required", "outcome_unknown"
INPUT_TEXTS = {
    "en": "{name} needs some input from you: {fields}.",
    "zh": "{name} 需要您补充：{fields}。",
    "de": "{name} braucht noch eine Angabe: {fields}.",
    "fr": "{name} a besoin d'une précision : {fields}.",
    "es": "{name} necesita más datos: {fields}.",
    "ja": "{name} に必要な情報を入力してください：{fields}",
    "ko": "{name}에 필요한 정보를 입력해 주세요: {fields}",
}
APPROVAL_TEXTS = {
    "en": "Allow {name} to run this?",
    "zh": "允许 {name} 执行此操作吗？",
    "de": "Darf {name} das ausführen?",
    "fr": "Autoriser {name} à exécuter ceci ?",
    "es": "¿Permitir que {name} ejecute esto?",
    "ja": "{name} にこの操作を許可しますか？",
    "ko": "{name}이(가) 이 작업을 실행하도록 허용할까요?",
}
"""By the primary subtag of the user's language."""

ESCAPED_CATEGORIES = ("Cc", "Cf", "Zl", "Zp")  # control, format, line and paragraph separator


def build_interrupt(
    context: StepContext, checkpoint: FlowCheckpoint, reason: str, message: str, schema: JsonValue
) -> Interrupt:
    """The question, with the checkpoint from which the flow resumes."""
    expiry = datetime.now(UTC) + timedelta(seconds=context.dependencies.expires_after)
    expires_at = expiry.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = context.dependencies.redactor.redact_text(message)
    subject = f"{context.plugin.id}.{checkpoint.flow}.{context.name}"
    return Interrupt(new_id("interrupt"), reason, text, None, schema, expires_at, checkpoint.to_json(), subject)


def write_missing(context: StepContext, filled: FilledSlots, note: str = "") -> str:
    """The sentence names every field; a line follows for each value that cannot be used."""
    text = translate(context, INPUT_TEXTS).format(name=plugin_name(context), fields=", ".join(missing_names(filled)))
    problems = [f"- {problem}" for problem in filled.problems.values() if not problem.endswith(MISSING)]
    return "\n".join([text, *problems, *([note] if note else [])])


def translate(context: StepContext, texts: Mapping[str, str]) -> str:
    return texts.get(context.scope.language.partition("-")[0].lower(), texts["en"])


def plugin_name(context: StepContext) -> str:
    """In the user's language if the plugin is translated."""
    language = context.scope.language.partition("-")[0].lower()
    return context.plugin.i18n.get(language, context.plugin.texts).name


def missing_names(filled: FilledSlots) -> list[str]:
    properties = (filled.missing or {}).get("properties")
    return list(properties) if isinstance(properties, dict) else []


def write_approval(context: StepContext, request: dict[str, JsonValue], note: str = "") -> str:
    """The complete request, so that the person knows what they allow."""
    if "method" in request:
        head = f"{request['method']} {request['server']}{request['path']}"
    else:
        head = " ".join(str(part) for part in (context.step.call, request.get("tool", "")) if part)
    lines = [f"{translate(context, APPROVAL_TEXTS).format(name=plugin_name(context))} {head}"]
    arguments, origins = request.get("arguments"), request.get("origins")
    if isinstance(arguments, dict) and isinstance(origins, dict):
        lines += [f"- {name}: {escape_line(value)} ({origins.get(name, 'args')})" for name, value in arguments.items()]
    files = request.get("files")
    if isinstance(files, list) and files:
        lines.append(f"- files: {', '.join(map(escape_line, files))}")
    return "\n".join([*lines, note] if note else lines)


def escape_line(value: JsonValue) -> str:
    """The value as sent, with characters escaped that start a new line or change the direction of text."""
    text = format_value(value)
    return "".join(ascii(one)[1:-1] if unicodedata.category(one) in ESCAPED_CATEGORIES else one for one in text)


def approval_schema(filled: FilledSlots | None) -> JsonValue:
    properties: dict[str, JsonValue] = {"decision": {"type": "string", "enum": ["allow", "edit", "deny"]}}
    if filled is not None:
        properties["arguments"] = {"type": "object", "description": "The changed arguments, for the decision `edit`."}
    return {"type": "object", "properties": properties, "required": ["decision"]}


def replace_arguments(filled: FilledSlots, arguments: dict[str, JsonValue]) -> FilledSlots:
    """Changed arguments get the origin `user`; the others keep theirs."""
    origins = {
        name: filled.origins.get(name, "user") if filled.arguments.get(name) == value else "user"
        for name, value in arguments.items()
    }
    return msgspec.structs.replace(filled, arguments=arguments, origins=origins)


def check_fixed(filled: FilledSlots, arguments: dict[str, JsonValue]) -> dict[str, str]:
    """Report changes to arguments whose values the flow sets."""
    names = (name for name, origin in filled.origins.items() if origin == "args")
    return {
        name: "the flow sets it" for name in names if name in arguments and arguments[name] != filled.arguments[name]
    }
