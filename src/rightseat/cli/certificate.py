"""A certificate that this machine signs itself: for browsers that refuse to call plain http, even on localhost.

It is kept, so that a browser that was told to accept it is asked once; and made anew when it would soon expire, or does
not name the host that is served.
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

LIFE = timedelta(days=397)  # browsers refuse certificates that live longer
SOON = timedelta(days=14)
ALWAYS = ("localhost", "127.0.0.1", "::1")


class Certificate(NamedTuple):
    """Two files, in PEM."""

    certificate: Path
    key: Path


def kept(folder: Path, hosts: Sequence[str]) -> Certificate:
    """The certificate in the folder, made if there is none that will do. Raises `ConfigError`."""
    files = Certificate(folder / "self-signed.pem", folder / "self-signed.key.pem")
    names = sorted({*ALWAYS, *(host.strip("[]") for host in hosts if host not in ("*", "0.0.0.0", "::"))})  # noqa: S104
    try:
        if not will_do(files, names):
            private_folder(folder)
            make(files, names)
    except (OSError, ValueError) as error:
        raise ConfigError(f"The certificate cannot be kept in {folder}: {error}.") from error
    return files


def will_do(files: Certificate, names: Sequence[str]) -> bool:
    if not files.certificate.exists() or not files.key.exists():
        return False
    try:
        found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        named = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    return set(names) <= set(map(text_of, named)) and found.not_valid_after_utc - SOON > datetime.now(UTC)


def make(files: Certificate, names: Sequence[str]) -> None:
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
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectAlternativeName(list(map(name_of, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write(files.key, secret, mode=0o600)
    write(files.certificate, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), mode=0o644)


def write(path: Path, content: bytes, mode: int) -> None:
    """Whole or not at all: another process may read it at this moment."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(content)
    fresh.replace(path)


def name_of(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def text_of(name: x509.GeneralName) -> str:
    return str(name.value)
