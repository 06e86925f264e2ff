"""Protocols in front. The name of a module is the `type:` of a face in the configuration."""
