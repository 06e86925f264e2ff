"""Questions of a flow to a person, and how their answers are read."""

import unicodedata
from datetime import UTC, datetime, timedelta

import msgspec

from rightseat.core.events import Interrupt
from rightseat.core.ids import new_id
from rightseat.core.values import JsonValue
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.flows.progress import Progress
from rightseat.plugins.slots import Filled
from rightseat.plugins.templates import written

INPUT, UNKNOWN = "input_required", "outcome_unknown"


def interrupt(turn: Turn, progress: Progress, reason: str, message: str, schema: JsonValue) -> Interrupt:
    """The question, with all that the flow needs to go on from here."""
    end = datetime.now(UTC) + timedelta(seconds=turn.means.expires_after)
    expires_at = end.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    shown = turn.means.redactor.text(message)
    subject = f"{turn.plugin.id}.{progress.flow}.{turn.name}"
    return Interrupt(new_id("interrupt"), reason, shown, None, schema, expires_at, progress.memo(), subject)


def missing_text(turn: Turn, filled: Filled, note: str = "") -> str:
    names = ", ".join(missing_names(filled))
    problems = "".join(f"\n- {problem}" for problem in filled.problems.values())
    return f"{plugin_name(turn)}: {turn.name} needs {names}.{problems}" + (f"\n{note}" if note else "")


def plugin_name(turn: Turn) -> str:
    """In the user's language, where the plugin has it."""
    language = turn.scene.language.partition("-")[0].lower()
    return turn.plugin.i18n.get(language, turn.plugin.words).name


def missing_names(filled: Filled) -> list[str]:
    properties = (filled.missing or {}).get("properties")
    return list(properties) if isinstance(properties, dict) else []


def approval_text(turn: Turn, what: dict[str, JsonValue], note: str = "") -> str:
    """All that would be done, so that whoever allows it knows what."""
    if "method" in what:
        head = f"{what['method']} {what['server']}{what['path']}"
    else:
        head = " ".join(str(part) for part in (turn.step.call, what.get("tool", "")) if part)
    lines = [f"May {plugin_name(turn)} do this? {head}"]
    arguments, origins = what.get("arguments"), what.get("origins")
    if isinstance(arguments, dict) and isinstance(origins, dict):
        lines += [f"- {name}: {in_a_line(value)} ({origins.get(name, 'args')})" for name, value in arguments.items()]
    files = what.get("files")
    if isinstance(files, list) and files:
        lines.append(f"- files: {', '.join(map(in_a_line, files))}")
    return "\n".join([*lines, note] if note else lines)


def in_a_line(value: JsonValue) -> str:
    """As it will be sent, with nothing in it that begins a line of its own or turns the text around."""
    hidden = ("Cc", "Cf", "Zl", "Zp")
    return "".join(ascii(one)[1:-1] if unicodedata.category(one) in hidden else one for one in written(value))


def approval_schema(filled: Filled | None) -> JsonValue:
    properties: dict[str, JsonValue] = {"decision": {"type": "string", "enum": ["allow", "edit", "deny"]}}
    if filled is not None:
        properties["arguments"] = {"type": "object", "description": "What changes, for the decision `edit`."}
    return {"type": "object", "properties": properties, "required": ["decision"]}


def edited(filled: Filled, arguments: dict[str, JsonValue]) -> Filled:
    """With what a person changed; the rest keeps its origin."""
    origins = {
        name: filled.origins.get(name, "user") if filled.arguments.get(name) == value else "user"
        for name, value in arguments.items()
    }
    return msgspec.structs.replace(filled, arguments=arguments, origins=origins)


def fixed(filled: Filled, arguments: dict[str, JsonValue]) -> dict[str, str]:
    """What nobody changes, because the flow fixes it."""
    names = (name for name, origin in filled.origins.items() if origin == "args")
    return {
        name: "the flow fixes it" for name in names if name in arguments and arguments[name] != filled.arguments[name]
    }
