"""An environment in which a cloud's library finds what the test gives it, and nothing of this machine."""

import os
from pathlib import Path

import pytest

from rightseat.cli.certificate import Certificate, ensure_certificate

PREFIXES = ("AWS_", "AZURE_", "IDENTITY_", "MSI_", "IMDS_")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [name for name in os.environ if name.startswith(PREFIXES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # tests of it take this out
    return monkeypatch


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """For servers at 127.0.0.1, and the authority that vouches for it."""
    return ensure_certificate(tmp_path_factory.mktemp("certificates"), [])
