"""Adapters of language models. A module's name is the `type:` of a model in the configuration."""

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
