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


def test_it_names_this_machine_and_the_hosts_that_are_served(tmp_path: Path) -> None:
    made = certificate.kept(tmp_path / "state", ["0.0.0.0", "copilot.test", "192.168.1.2", "*"])

    assert names_in(made.certificate) == {"localhost", "127.0.0.1", "::1", "copilot.test", "192.168.1.2"}
    assert made.key.stat().st_mode & 0o777 == 0o600
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(made.certificate, made.key)


def test_it_is_kept_so_that_a_browser_is_asked_once(tmp_path: Path) -> None:
    first = certificate.kept(tmp_path, ["127.0.0.1"]).certificate.read_bytes()

    assert certificate.kept(tmp_path, ["localhost"]).certificate.read_bytes() == first


@pytest.mark.parametrize("host", ["another.test", "localhost"])
def test_it_is_made_anew_for_another_host_and_when_it_is_old(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = certificate.kept(tmp_path, []).certificate.read_bytes()
    if host == "localhost":
        monkeypatch.setattr(certificate, "SOON", certificate.LIFE + timedelta(days=1))

    assert certificate.kept(tmp_path, [host]).certificate.read_bytes() != first


def test_what_is_no_certificate_is_replaced(tmp_path: Path) -> None:
    for name in ("self-signed.pem", "self-signed.key.pem"):
        (tmp_path / name).write_text("rubbish")

    assert "localhost" in names_in(certificate.kept(tmp_path, []).certificate)


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="cannot be"):
        certificate.kept(tmp_path / "file" / "state", [])
