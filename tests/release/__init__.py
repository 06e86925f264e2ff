"""Makes what a release consists of, in a clean clone: `just release VERSION`."""
