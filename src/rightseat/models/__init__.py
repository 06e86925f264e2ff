"""Language models. The name of a module is the `type:` of a model in the configuration."""
