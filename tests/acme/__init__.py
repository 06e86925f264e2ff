"""Parts as somebody else would write them, for the tests of what puts parts together."""
