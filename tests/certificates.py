"""Certificates for real TLS: an authority, a server that it vouches for, and a client that it vouches for."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    ca: Path
    server: Path
    """With its key, as `client` too."""
    client: Path

    def server_context(self, *, asks_for_one: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server)
        if asks_for_one:
            context.load_verify_locations(self.ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def make_certificates(folder: Path, *, is_expired: bool = False) -> Certificates:
    """For 127.0.0.1, `model.test`, `a.test` and `copilot.example.com`. Those of server and client may have expired."""
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = name("Test authority")
    made = {"ca": sign(issuer, issuer, authority, authority, is_ca=True)}
    for one in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        private = key.private_bytes(encoding, kind, serialization.NoEncryption())
        made[one] = private + sign(name(one), issuer, key, authority, is_ca=False, is_expired=is_expired)
    for one, content in made.items():
        (folder / f"{one}.pem").write_bytes(content)
    return Certificates(*(folder / f"{one}.pem" for one in ("ca", "server", "client")))


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def sign(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    *,
    is_ca: bool,
    is_expired: bool = False,
) -> bytes:
    now = datetime.now(UTC)
    names = [x509.DNSName(one) for one in ("model.test", "a.test", "copilot.example.com")]
    addresses = [x509.IPAddress(ip_address("127.0.0.1"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now - timedelta(minutes=1) if is_expired else now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
    )
    if is_ca:
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
