"""The styles in which model families call tools, and the choice of a model's style."""

from rightseat.core.errors import ConfigError
from rightseat.models.completion.backend import Description
from rightseat.models.completion.styles import (
    command_r7b,
    deepseek,
    functionary,
    generic,
    glm,
    granite,
    harmony,
    hermes,
    kimi_k2,
    llama_31,
    llama_31_functions,
    mistral,
    phi_4,
    qwen3_coder,
)
from rightseat.models.completion.styles.style import Style

NATIVE: tuple[Style, ...] = (
    functionary.V32,
    functionary.V2,
    harmony.STYLE,
    kimi_k2.STYLE,
    deepseek.V32,
    deepseek.R1,
    deepseek.V31,
    command_r7b.STYLE,
    glm.STYLE,
    qwen3_coder.STYLE,
    functionary.V31,
    mistral.V3,
    mistral.NEMO,
    phi_4.STYLE,
    hermes.NATIVE,
    granite.STYLE,
    llama_31_functions.STYLE,
    llama_31.STYLE,
)
"""Recognised by the chat template; the first match wins, so the more specific styles come first."""

STYLES: dict[str, Style] = {style.name: style for style in (*NATIVE, hermes.FORCED, generic.STYLE)}


def select(description: Description, wanted: str = "auto", *, has_tools: bool = True) -> tuple[Description, Style, str]:
    """Return the description with the template for this kind of request, its style, and the reason, for people.

    A template for tools serves only the style that it was written for. Without tools, the other template prints no
    calls, so its own style writes earlier ones.
    """
    if not has_tools:
        described = description.for_text()
        return described, *choose(described, "auto" if described is not description else wanted)
    style, reason = choose(description.for_tools(), wanted)
    return description.for_tools() if style.template_markers else description.for_text(), style, reason


def choose(description: Description, wanted: str = "auto") -> tuple[Style, str]:
    """Return the style of a template, and the reason, for people."""
    if wanted != "auto":
        if wanted not in STYLES:
            raise ConfigError(f"There is no style {wanted!r}. Known: auto, {', '.join(sorted(STYLES))}.")
        return STYLES[wanted], "it is set in the configuration"
    template = description.template
    kind = "chat template for tools" if template and template == description.tool_template else "chat template"
    if not template:
        return hermes.FORCED, "the model has no chat template"
    for style in NATIVE:
        if style.recognises(template):
            markers = " and ".join(repr(marker) for marker in style.template_markers)
            return style, f"its {kind} contains {markers}"
    if description.caps.get("supports_tools", "tools" in template):
        return hermes.FORCED, f"its {kind} mentions tools in a form that no style supports"
    return hermes.FORCED, f"its {kind} does not support tools"
