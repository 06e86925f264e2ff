"""URLs of PostgreSQL as its own tools read them: they may name several hosts."""

from urllib.parse import parse_qsl, quote, urlencode

from rightseat.core.errors import ConfigError

SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg")
DEFAULT_PORT = "5432"


def read_url(url: str, part: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES or not rest:
        raise ConfigError(f"The `url` of {part} should be like postgresql://user:password@host/name.")
    return f"postgresql://{rest}"


def write_for_sqlalchemy(url: str, part: str) -> str:
    """SQLAlchemy reads `host1:port1,host2:port2` only as options: `?host=host1:port1&host=host2:port2`."""
    url = read_url(url, part)
    rest, _, query = url.removeprefix("postgresql://").partition("?")
    place, slash, database = rest.partition("/")
    credentials, at, hosts = place.rpartition("@")
    if "," not in hosts:
        return url
    if "[" in hosts:
        raise ConfigError(
            f"The `url` of {part} has several hosts, one of them with a numeric IPv6 address, which is not supported. "
            "Write one host, or names instead of addresses."
        )
    options = [("host", host if ":" in host else f"{host}:{DEFAULT_PORT}") for host in hosts.split(",")]
    options += parse_qsl(query, keep_blank_values=True)
    return f"postgresql://{credentials}{at}{slash or '/'}{database}?{urlencode(options, quote_via=quote)}"
