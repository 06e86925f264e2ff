"""The configuration file, read once. The environment is read here and nowhere else.

variables   ${ENV} in values
document    YAML → values, and where each of them stands
access      what it may say about who may call
telemetry   what it may say about what the server tells of itself
shape       what the file may say, and what it says when it says nothing
problems    what is wrong, in words, with file, line and column
reading     all of it together: a file → Config, or every problem at once
adding      a new key → the text of the file
schema      the same as JSON Schema, for editors
"""

from rightseat.config.access import Access, ApiKey, FaceAccess, Jwt
from rightseat.config.reading import FILE, IN_MEMORY, find, has_openai_key, in_memory, parse, read
from rightseat.config.shape import Config, HookNames, Origin, Part, Server

__all__ = [
    "FILE",
    "IN_MEMORY",
    "Access",
    "ApiKey",
    "Config",
    "FaceAccess",
    "HookNames",
    "Jwt",
    "Origin",
    "Part",
    "Server",
    "find",
    "has_openai_key",
    "in_memory",
    "parse",
    "read",
]
