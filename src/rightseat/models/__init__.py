"""Adapters of language models. A module's name is the `type:` of a model in the configuration."""

from typing import TYPE_CHECKING

from rightseat.lazy_names import import_lazily

if TYPE_CHECKING:
    from rightseat.core.model import CallChunk, Model, Prompt, ReasoningChunk, StopChunk, TextChunk, UsageChunk
    from rightseat.models.anthropic import Anthropic
    from rightseat.models.google import Google
    from rightseat.models.openai import OpenAI
    from rightseat.models.scripted import Scripted as Demo

__all__ = [
    "Anthropic",
    "CallChunk",
    "Demo",
    "Google",
    "Model",
    "OpenAI",
    "Prompt",
    "ReasoningChunk",
    "StopChunk",
    "TextChunk",
    "UsageChunk",
]

_HOMES = {
    "Anthropic": "rightseat.models.anthropic:Anthropic",
    "CallChunk": "rightseat.core.model:CallChunk",
    "Demo": "rightseat.models.scripted:Scripted",
    "Google": "rightseat.models.google:Google",
    "Model": "rightseat.core.model:Model",
    "OpenAI": "rightseat.models.openai:OpenAI",
    "Prompt": "rightseat.core.model:Prompt",
    "ReasoningChunk": "rightseat.core.model:ReasoningChunk",
    "StopChunk": "rightseat.core.model:StopChunk",
    "TextChunk": "rightseat.core.model:TextChunk",
    "UsageChunk": "rightseat.core.model:UsageChunk",
}

_OPENAI_SERVERS = {
    "deepseek": "model: deepseek-chat, base_url: https://api.deepseek.com, api_key: '${DEEPSEEK_API_KEY}'",
    "groq": ("model: llama-3.3-70b-versatile, base_url: https://api.groq.com/openai/v1, api_key: '${GROQ_API_KEY}'"),
    "llama.cpp": "model: local, base_url: http://localhost:8080/v1",
    "lmstudio": "model: NAME, base_url: http://localhost:1234/v1",
    "mistral": "model: mistral-small-latest, base_url: https://api.mistral.ai/v1, api_key: '${MISTRAL_API_KEY}'",
    "ollama": "model: llama3.2, base_url: http://localhost:11434/v1",
    "openrouter": (
        "model: meta-llama/llama-3.3-70b-instruct, base_url: https://openrouter.ai/api/v1, "
        "api_key: '${OPENROUTER_API_KEY}'"
    ),
    "sglang": "model: Qwen/Qwen3-8B, base_url: http://localhost:30000/v1",
    "vllm": "model: Qwen/Qwen3-8B, base_url: http://localhost:8000/v1",
    "azure": (
        "model: my-deployment, base_url: https://my-resource.openai.azure.com/openai/v1, "
        "headers: {api-key: '${AZURE_OPENAI_API_KEY}'}"
    ),
}

EXAMPLES = {name: f"{{type: openai, {options}}}" for name, options in _OPENAI_SERVERS.items()} | {
    "bedrock": (
        "{type: anthropic, platform: bedrock, region: us-east-1, model: anthropic.claude-sonnet-5, "
        "api_key: '${AWS_BEARER_TOKEN_BEDROCK}'}"
    ),
    "claude": "{type: anthropic, model: claude-sonnet-5, api_key: '${ANTHROPIC_API_KEY}'}",
    "gemini": "{type: google, model: gemini-3.8-flash, api_key: '${GEMINI_API_KEY}'}",
    "vertex": "{type: google, platform: vertex, project: my-project, region: global, model: gemini-3.8-flash}",
}
"""Models of providers whose name is not a type, as a configuration writes them. `parts.find` shows them."""

__getattr__ = import_lazily(__name__, _HOMES)
