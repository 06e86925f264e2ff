"""The styles in which models call tools, and which of them is a model's own."""

from rightseat.core.errors import ConfigError
from rightseat.models.completion.engine import Description
from rightseat.models.completion.styles import (
    command_r7b,
    deepseek_r1,
    deepseek_v31,
    deepseek_v32,
    forced_hermes,
    functionary_v2,
    functionary_v31,
    functionary_v32,
    generic,
    glm,
    granite,
    harmony,
    hermes,
    kimi_k2,
    llama_31,
    llama_31_functions,
    mistral_3,
    mistral_nemo,
    phi_4,
    qwen3_coder,
)
from rightseat.models.completion.styles.style import Style

NATIVE: tuple[Style, ...] = (
    functionary_v32.STYLE,
    functionary_v2.STYLE,
    harmony.STYLE,
    kimi_k2.STYLE,
    deepseek_v32.STYLE,
    deepseek_r1.STYLE,
    deepseek_v31.STYLE,
    command_r7b.STYLE,
    glm.STYLE,
    qwen3_coder.STYLE,
    functionary_v31.STYLE,
    mistral_3.STYLE,
    mistral_nemo.STYLE,
    phi_4.STYLE,
    hermes.STYLE,
    granite.STYLE,
    llama_31_functions.STYLE,
    llama_31.STYLE,
)
"""Recognised by the chat template; the first that fits is it, so the more particular ones come first."""

STYLES: dict[str, Style] = {style.name: style for style in (*NATIVE, forced_hermes.STYLE, generic.STYLE)}


def choose(description: Description, wanted: str = "auto") -> tuple[Style, str]:
    """The style of a model, and why it is this one, in words for people."""
    if wanted != "auto":
        if wanted not in STYLES:
            raise ConfigError(f"There is no style {wanted!r}. Known: auto, {', '.join(sorted(STYLES))}.")
        return STYLES[wanted], "the configuration says so"
    template = description.template
    if not template:
        return forced_hermes.STYLE, "the model has no chat template"
    for style in NATIVE:
        if style.recognises(template):
            signs = " and ".join(repr(sign) for sign in style.signs)
            return style, f"its chat template holds {signs}"
    if description.caps.get("supports_tools", "tools" in template):
        return forced_hermes.STYLE, "its chat template speaks of tools in a way that no style here knows"
    return forced_hermes.STYLE, "its chat template knows no tools"
