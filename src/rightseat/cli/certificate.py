"""Creates a self-signed certificate, for browsers that refuse plain http even on localhost.

It is stored, so that users accept it in their browser only once, and replaced when it is about to expire or does not
name the host.
"""

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rightseat.core.errors import ConfigError
from rightseat.parts import private_folder

VALIDITY = timedelta(days=397)  # browsers refuse longer ones
RENEW_BEFORE = timedelta(days=14)
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Certificate(NamedTuple):
    """Two PEM files."""

    certificate: Path
    key: Path


def ensure_certificate(folder: Path, hosts: Sequence[str]) -> Certificate:
    """The certificate in the folder, created if there is no usable one. Raises `ConfigError`."""
    files = Certificate(folder / "self-signed.pem", folder / "self-signed.key.pem")
    names = sorted({*LOCAL_NAMES, *(host.strip("[]") for host in hosts if host not in ("*", "0.0.0.0", "::"))})  # noqa: S104
    try:
        if not is_usable(files, names):
            private_folder(folder)
            create(files, names)
    except (OSError, ValueError) as error:
        raise ConfigError(f"The certificate cannot be stored in {folder}: {error}.") from error
    return files


def is_usable(files: Certificate, names: Sequence[str]) -> bool:
    if not files.certificate.exists() or not files.key.exists():
        return False
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    is_current = certificate.not_valid_after_utc - RENEW_BEFORE > datetime.now(UTC)
    return is_current and set(names) <= {str(name.value) for name in alternatives}


def create(files: Certificate, names: Sequence[str]) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rightseat on this machine")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.SubjectAlternativeName(list(map(to_general_name, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write(files.key, secret, mode=0o600)
    write(files.certificate, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), mode=0o644)


def write(path: Path, content: bytes, mode: int) -> None:
    """Atomic: another process may be reading the file."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(content)
    temporary.replace(path)


def to_general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
