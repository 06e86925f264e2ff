"""The plugin format: an HTTP API becomes a copilot's tool, a YAML file becomes its procedure."""
