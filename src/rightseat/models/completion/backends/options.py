"""Configuration of backends."""

from collections.abc import Iterable, Set
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, SecretStr, Tag, model_validator
from pydantic_core import PydanticCustomError

from rightseat.egress.deadlines import ANSWER_SECONDS, SILENCE_SECONDS
from rightseat.egress.network import NetworkOptions
from rightseat.egress.request import parse_base_url, write_headers
from rightseat.parts import BesidePath, StatePath

DEFAULT = "llama_cpp"


def _check_address(url: str) -> str:
    try:
        parse_base_url(url)
    except ValueError as error:
        raise PydanticCustomError("address", "{text}", {"text": str(error)}) from None
    return url.rstrip("/")


def _check_value(value: SecretStr) -> SecretStr:
    try:
        write_headers({"authorization": value.get_secret_value()})
    except ValueError:
        raise PydanticCustomError("header", "should be one line of plain characters") from None
    return value


BackendUrl = Annotated[str, AfterValidator(_check_address)]
BackendKey = Annotated[SecretStr, AfterValidator(_check_value)]


class PromptCacheOptions(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        revalidate_instances="always",  # the default below knows no folder yet
    )
    folder: StatePath = Path("prompt_cache")
    """Where caches are saved. A relative path is below the folder `server.state_dir`."""
    max_files: int = Field(default=16, ge=0)
    """How many files are kept; 0 saves none and lets llama-server choose the slots."""
    max_mb: int = Field(default=4096, ge=1)
    """How many megabytes all files may have together."""


RESERVED_ARGUMENTS = {
    "-m": "model",
    "--model": "model",
    "--host": "none; it always listens on 127.0.0.1",
    "--port": "port",
    "-c": "context_window",
    "--ctx-size": "context_window",
    "-np": "slots",
    "--parallel": "slots",
    "--slot-save-path": "prompt_cache.folder",
    "--api-key": "api_key",
}
"""llama-server arguments that have an option of their own: set twice, our picture of the server would be wrong."""

MANAGED_ONLY = {"arguments", "binary", "context_window", "port", "prompt_cache", "ready", "slots", "threads"}


def check_source(url: str | None, model: Path | None, managed: Set[str]) -> None:
    """`managed` are the given options that apply only to a server that rightseat starts."""
    if (url is None) == (model is None):
        text = "either `url`, of a running llama-server, or `model`, a GGUF file to start one with"
        raise PydanticCustomError("backend", "should have {text}", {"text": text})
    if url is not None and managed:
        idle = ", ".join(sorted(managed))
        text = f"{idle} beside `url`: it applies only to a server that rightseat starts, with `model`"
        raise PydanticCustomError("backend", "should not have {text}", {"text": text})


def check_arguments(arguments: Iterable[str]) -> None:
    for argument in arguments:
        if option := RESERVED_ARGUMENTS.get(argument.partition("=")[0]):
            text = f"{argument.partition('=')[0]} in `arguments`: the option for it is {option}"
            raise PydanticCustomError("backend", "should not have {text}", {"text": text})


class LlamaCppOptions(NetworkOptions):
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), validate_default=True
    )
    type: Literal["llama_cpp"] = "llama_cpp"
    url: BackendUrl | None = None
    """The URL of a running llama-server, for example `http://127.0.0.1:8080`. It may have a path."""
    model: BesidePath | None = None
    """A GGUF file, instead of `url`: rightseat starts and supervises a llama-server for it. A relative path starts at
    the folder of this configuration."""
    api_key: BackendKey | None = None
    """Sent as `Authorization: Bearer …`, for a server started with `--api-key`. A server that rightseat starts accepts
    no other key."""
    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds without content from the provider before the response is ended with an error. Comments and chunks
    without content do not count as content; llama-server's progress with a long prompt does."""
    total_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """Seconds that one response may take in total before it is ended with an error."""
    llguidance: bool = False
    """The server was built with LLGuidance and can be sent grammars for it. A build without it crashes on one."""
    binary: Path | None = None
    """The llama-server to start. Unset: the one on the PATH or in an installed package."""
    port: int = Field(default=0, ge=0, le=65535)
    """The port of a server that rightseat starts, on 127.0.0.1 only; 0 takes a free port."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads. Unset: llama-server's own default."""
    context_window: int = Field(default=8192, ge=256)
    """How many tokens a conversation may have, response included."""
    slots: int = Field(default=2, ge=1, le=64)
    """How many conversations are processed concurrently. Each takes memory for a whole context window."""
    arguments: tuple[str, ...] = ()
    """More arguments of llama-server, such as `["-ngl", "99"]`. Arguments that have an option here are rejected."""
    ready: bool = True
    """`GET /ready` is 503 while a server that rightseat starts crashes again and again. With `false` it does not depend
    on this model."""
    prompt_cache: PromptCacheOptions = PromptCacheOptions()
    """Saved prompt caches, so that a server that rightseat starts need not read conversations again after a restart."""

    @property
    def place(self) -> str:
        """A short description for the operator."""
        return f"at {self.url}" if self.url else f"with {self.model}"

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        check_source(self.url, self.model, MANAGED_ONLY & self.model_fields_set)
        if self.model is not None and (idle := sorted({"proxy", "tls"} & self.model_fields_set)):
            text = f"{', '.join(idle)} beside `model`: it applies only to a running server, with `url`"
            raise PydanticCustomError("backend", "should not have {text}", {"text": text})
        check_arguments(self.arguments)
        return self


class EmbeddingOptions(NetworkOptions):
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), validate_default=True
    )
    url: BackendUrl | None = None
    """The URL of a running llama-server that was started with `--embeddings`."""
    model: BesidePath | None = None
    """A GGUF file, instead of `url`: rightseat starts and supervises a llama-server of its own for it. It may be the
    model's own file: the vectors of a model without a pooling of its own are the mean of its tokens'."""
    api_key: BackendKey | None = None
    """Sent as `Authorization: Bearer …`."""
    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds that the vectors of 32 texts may take."""
    binary: Path | None = None
    """The llama-server to start. Unset: the one on the PATH or in an installed package."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads. Unset: llama-server's own default."""
    context_window: int = Field(default=2048, ge=64)
    """How many tokens a text may have. Longer texts are refused."""
    arguments: tuple[str, ...] = ()
    """More arguments of llama-server, such as `["--pooling", "cls"]`."""

    @property
    def place(self) -> str:
        """A short description for the operator."""
        return f"at {self.url}" if self.url else f"with {self.model}"

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        given = self.model_fields_set - {"proxy", "tls"}
        check_source(self.url, self.model, given & {"arguments", "binary", "context_window", "threads"})
        check_arguments(self.arguments)
        return self


class VllmOptions(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    type: Literal["vllm"]
    url: BackendUrl
    """The URL of vLLM, for example `http://127.0.0.1:8000`."""
    model: str
    """The model's name at vLLM."""
    tokenizer: BesidePath | None = None
    """The model's folder or its `tokenizer_config.json`, for the chat template, which vLLM does not publish. Unset: the
    model is prompted in plain text."""
    api_key: BackendKey | None = None
    """Sent as `Authorization: Bearer …`."""
    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds without content from the provider before the response is ended with an error. Comments and chunks
    without content do not count as content."""
    total_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """Seconds that one response may take in total before it is ended with an error."""

    @property
    def place(self) -> str:
        """A short description for the operator."""
        return f"at {self.url}"


def _type_of(value: Any) -> Any:
    return value.get("type", DEFAULT) if isinstance(value, dict) else getattr(value, "type", DEFAULT)


AnyOptions = LlamaCppOptions | VllmOptions

BackendOptions = Annotated[
    Annotated[LlamaCppOptions, Tag("llama_cpp")] | Annotated[VllmOptions, Tag("vllm")], Discriminator(_type_of)
]
