"""Prints the configuration for a suite of memories, as JSON, which is YAML. So far it has what feedback needs."""

import json

from tests.acceptance.configurations.feedback import configuration

if __name__ == "__main__":
    print(json.dumps(configuration(), indent=1))
