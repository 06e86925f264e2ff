"""The configuration file, read once. The environment is read here and nowhere else.

variables   ${ENV} in values
document    YAML → values, and where each of them stands
shape       what the file may say, and what it says when it says nothing
problems    what is wrong, in words, with file, line and column
reading     all of it together: a file → Config, or every problem at once
schema      the same as JSON Schema, for editors
"""

from rightseat.config.reading import FILE, find, has_openai_key, parse, read
from rightseat.config.shape import Config, HookNames, Part, Server

__all__ = ["FILE", "Config", "HookNames", "Part", "Server", "find", "has_openai_key", "parse", "read"]
