"""Backends with a raw completion endpoint: llama-server and vLLM. A module's name is the `type:`."""

from pathlib import Path

from rightseat.core.errors import ConfigError
from rightseat.models.completion.backends.llama_cpp import LlamaCpp
from rightseat.models.completion.backends.options import AnyOptions, BackendOptions, LlamaCppOptions, VllmOptions
from rightseat.models.completion.backends.process import ServerProcess
from rightseat.models.completion.backends.vllm import Vllm

__all__ = ["AnyBackend", "BackendOptions", "LlamaCpp", "ServerProcess", "Vllm", "build"]

AnyBackend = LlamaCpp | ServerProcess | Vllm


def build(options: AnyOptions) -> AnyBackend:
    """Cheap; a backend is opened as an async context manager."""
    match options:
        case LlamaCppOptions(url=str(url)):
            return LlamaCpp(
                url,
                api_key=options.api_key,
                timeout=options.timeout,
                has_llguidance=options.llguidance,
                network=options,
            )
        case LlamaCppOptions(model=Path() as model):
            return ServerProcess(options, model)
        case LlamaCppOptions():
            raise ConfigError("The backend needs a `url`, or a `model` to start a llama-server with.")
        case VllmOptions():
            return Vllm(options)
