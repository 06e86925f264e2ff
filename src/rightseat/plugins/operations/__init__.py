"""Operations of an API: from arguments to a request, through the one door out, to a result."""

from rightseat.plugins.operations.sending import Request, Sender
from rightseat.plugins.operations.tokens import Carrier

__all__ = ["Carrier", "Request", "Sender"]
