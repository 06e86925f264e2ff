"""Which flow answers a question, and which could be asked for next."""

from rightseat.plugins.choosing.picking import Chosen, candidates, choose
from rightseat.plugins.choosing.searching import Search
from rightseat.plugins.choosing.suggesting import suggest

__all__ = ["Chosen", "Search", "candidates", "choose", "suggest"]
