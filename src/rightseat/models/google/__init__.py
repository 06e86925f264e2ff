"""Client of Google's Gemini models, at the Gemini API or Google Cloud (Vertex AI).

It does not use google-genai (docs/decisions/0008); the tests compare it with that SDK.
"""

from collections.abc import Iterator

from rightseat.core.model import Model
from rightseat.models.google.model import Google
from rightseat.models.google.options import Options
from rightseat.models.upstream import warn_of_no_key

__all__ = ["Google", "Options", "build", "warn"]


def build(options: Options) -> Model:
    return Google(options)


def warn(options: Options) -> Iterator[str]:
    if options.api_key is None and options.base_url is None and options.platform == "gemini":
        yield from warn_of_no_key("Google", "x-goog-api-key", {name.lower() for name in options.headers})
