"""Summarizes a conversation context that is too long for a prompt, with one model call."""

from dataclasses import replace

from rightseat.plugins.expressions import prompts, templates, truncation
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.model_calls import ModelRequest
from rightseat.plugins.results import StepFailed, StepUsage

CONTEXT_SHARE = 0.2  # of the tokens that a model can read

SYSTEM = "Sum up what happened so far in a conversation, in a few sentences. Keep names, numbers and results."


async def fit_context(context: StepContext, *prompt_templates: str) -> tuple[StepContext, StepUsage]:
    """Return the step context with a conversation context that fits its share of the window.

    If the model call fails, the text stays as it is and is cut like any other.
    """
    scope = context.scope
    text, budget = prompts.format_context(scope), truncation.compute_byte_budget(scope.window)
    is_used = any(
        one.name == "context" for template in prompt_templates for one in templates.find_placeholders(template)
    )
    if not is_used or truncation.count_bytes(text) <= int(budget * CONTEXT_SHARE):
        return context, StepUsage()
    shortened, _ = truncation.truncate_value(text, budget - truncation.count_bytes(SYSTEM))
    try:
        response = await context.dependencies.model.call(ModelRequest("context", SYSTEM, shortened))
    except StepFailed:
        return context, StepUsage()
    return replace(context, scope=replace(scope, context=response.text)), response.usage
