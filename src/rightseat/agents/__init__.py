"""The built-in agents. The name of a module is the `type:` of an agent in the configuration."""
