from rightseat.core.errors import Unenforceable


class Impossible(Unenforceable):
    """No value fits. Where there are other options, they are left."""
