"""The programs that run a model, each by its own raw endpoint: `type` is the module's name."""

from pathlib import Path

from rightseat.core.errors import ConfigError
from rightseat.models.completion.engines.llama_cpp import LlamaCpp
from rightseat.models.completion.engines.options import AnyOptions, EngineOptions, LlamaCppOptions, VllmOptions
from rightseat.models.completion.engines.spawning import Spawned
from rightseat.models.completion.engines.vllm import Vllm

__all__ = ["AnyEngine", "EngineOptions", "LlamaCpp", "Spawned", "Vllm", "build"]

AnyEngine = LlamaCpp | Spawned | Vllm


def build(options: AnyOptions) -> AnyEngine:
    """Cheap, and opens nothing: an engine is opened as an async context manager."""
    match options:
        case LlamaCppOptions(url=str(url)):
            return LlamaCpp(
                url,
                api_key=options.api_key,
                patience=options.patience,
                has_llguidance=options.llguidance,
                network=options,
            )
        case LlamaCppOptions(model=Path() as model):
            return Spawned(options, model)
        case LlamaCppOptions():
            raise ConfigError("The engine should have a `url`, or a `model` to start one with.")
        case VllmOptions():
            return Vllm(options)
