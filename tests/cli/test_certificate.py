"""A certificate of this machine's own."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from rightseat.cli import certificate
from rightseat.core.errors import ConfigError


def names_in(path: Path) -> set[str]:
    found = x509.load_pem_x509_certificate(path.read_bytes())
    return {str(one.value) for one in found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value}


def test_a_certificate_names_this_machine_and_the_served_hosts(tmp_path: Path) -> None:
    made = certificate.ensure_certificate(tmp_path / "state", ["0.0.0.0", "copilot.test", "192.168.1.2", "*"])

    assert names_in(made.certificate) == {"localhost", "127.0.0.1", "::1", "copilot.test", "192.168.1.2"}
    assert made.key.stat().st_mode & 0o777 == 0o600
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(made.certificate, made.key)


def test_a_certificate_is_kept_between_starts(tmp_path: Path) -> None:
    first = certificate.ensure_certificate(tmp_path, ["127.0.0.1"]).certificate.read_bytes()

    assert certificate.ensure_certificate(tmp_path, ["localhost"]).certificate.read_bytes() == first


@pytest.mark.parametrize("host", ["another.test", "localhost"])
def test_a_certificate_is_renewed_for_another_host_and_before_it_expires(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = certificate.ensure_certificate(tmp_path, []).certificate.read_bytes()
    if host == "localhost":
        monkeypatch.setattr(certificate, "RENEW_BEFORE", certificate.VALIDITY + timedelta(days=1))

    assert certificate.ensure_certificate(tmp_path, [host]).certificate.read_bytes() != first


def test_an_unreadable_certificate_is_replaced(tmp_path: Path) -> None:
    for name in ("self-signed.pem", "self-signed.key.pem"):
        (tmp_path / name).write_text("rubbish")

    assert "localhost" in names_in(certificate.ensure_certificate(tmp_path, []).certificate)


def test_a_certificate_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="Cannot create the folder"):
        certificate.ensure_certificate(tmp_path / "file" / "state", [])
