"""The identity provider can be used: its discovery document, its keys, and PKCE."""

from collections.abc import Iterator
from functools import partial
from importlib import import_module

from rightseat.access.sign_in.refusal import SignInRefused
from rightseat.config import Oidc
from rightseat.core.errors import IssuerUnavailable
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix
from rightseat.installation import install_command

DOCS = "how-to/sign-in"


def check_sign_in(context: CheckContext) -> Iterator[Check]:
    oidc = context.config.access.oidc if context.config else None
    if oidc is not None:
        yield Check("sign_in", "access.oidc", "The identity provider responds", partial(judge_provider, oidc))


async def judge_provider(oidc: Oidc) -> CheckOutcome:
    """authlib is imported here: it need not be installed elsewhere."""
    try:
        provider, jwks = (import_module(f"rightseat.access.{name}") for name in ("sign_in.provider", "jwks"))
    except ModuleNotFoundError as error:
        fix = Fix("Install the package.", install_command("oidc"))
        return CheckOutcome("error", f"Sign-in needs the package {error.name!r}, which is not installed.", fix)
    try:
        async with provider.OpenIdProvider(oidc, "") as opened:
            metadata = await opened.read_metadata()
        async with jwks.Jwks(metadata.jwks_uri, network=oidc, timeout=oidc.timeout) as keys:
            await keys.find(None)
    except SignInRefused as error:
        url = f"{oidc.issuer.rstrip('/')}/.well-known/openid-configuration"
        fix = Fix("Correct `access.oidc.issuer`: the command shows the provider's document.", f"curl {url}", docs=DOCS)
        return CheckOutcome("error", f"Sign-in with {oidc.display_name} does not work: {error.message}.", fix)
    except IssuerUnavailable:
        fix = Fix("See whether the address responds; the server's log has the cause.", f"curl {metadata.jwks_uri}")
        return CheckOutcome("error", f"The public keys at {metadata.jwks_uri} cannot be read.", fix)
    methods = metadata.code_challenge_methods_supported
    if methods is not None and "S256" not in methods:
        fix = Fix("Switch on PKCE with S256 at the provider.", docs=DOCS)
        return CheckOutcome("error", f"{oidc.issuer} does not support PKCE with S256, which is required.", fix)
    return CheckOutcome("ok", f"{oidc.issuer} responds, and its public keys can be read.")
