"""How many examples hypothesis makes up: 300, or as many as RIGHTSEAT_EXAMPLES says."""

import os

from hypothesis import settings

settings.register_profile("rightseat", max_examples=int(os.environ.get("RIGHTSEAT_EXAMPLES", "300")), deadline=None)
settings.load_profile("rightseat")
