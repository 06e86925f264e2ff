"""The configuration file. Only this package reads the environment.

variables    ${ENV} in values
document     YAML → values with their lines and columns
shape        the keys of the file and their defaults, and the validated `Config`
access       the keys of the section `access`
network      the options `proxy` and `tls`
urls         validated URLs of servers
telemetry    the keys of the section `telemetry`
evals        the keys of the section `evals`
problems     validation errors → messages with file, line and column
loader       a file → Config, or every problem at once
live         parts that are objects in Python
model_names  `openai:gpt-4o-mini`
deprecation  warnings about deprecated keys
append       adds an API key to the text of the file
starter      the text of a first file, for `rightseat init` and the console
schema       JSON Schema of the file, for editors
"""

from rightseat.config.access import Access, ApiKey, FaceAccess, Jwt, Oidc
from rightseat.config.evals import EvalOptions
from rightseat.config.live import LivePart
from rightseat.config.loader import (
    FILE,
    IN_MEMORY,
    build,
    find,
    has_openai_key,
    in_memory,
    parse,
    read,
    read_server,
    written_value,
)
from rightseat.config.model_names import NamedModel, read_model_name
from rightseat.config.shape import Config, ConfiguredPart, HookNames, Origin, Server

__all__ = [
    "FILE",
    "IN_MEMORY",
    "Access",
    "ApiKey",
    "Config",
    "ConfiguredPart",
    "EvalOptions",
    "FaceAccess",
    "HookNames",
    "Jwt",
    "LivePart",
    "NamedModel",
    "Oidc",
    "Origin",
    "Server",
    "build",
    "find",
    "has_openai_key",
    "in_memory",
    "parse",
    "read",
    "read_model_name",
    "read_server",
    "written_value",
]
