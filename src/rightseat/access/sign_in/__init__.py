"""Sign-in of people with an OpenID provider: the authorization code flow with PKCE.

service          begins and finishes a sign-in, for the routes of `app.sign_in`
provider         the requests to the provider and the checks of its responses; the only module that imports authlib
provider_client  sends these requests
attempt          the cookie of a sign-in in progress
cipher           encrypts it
grants           from the claims of a user to scopes
refusal          why a sign-in fails
"""
