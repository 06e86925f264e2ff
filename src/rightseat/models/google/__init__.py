"""Google's Gemini, streamed: from the Gemini API with a key, or from Google Cloud (Vertex AI).

The connection and the reading are our own (docs/decisions/0008); the tests hold both against google-genai.
"""

from rightseat.core.model import Model
from rightseat.models.google.model import Google
from rightseat.models.google.options import Options

__all__ = ["Google", "Options", "build"]


def build(options: Options) -> Model:
    return Google(options)
