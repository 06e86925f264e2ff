"""Who may. A credential → the `Principal` that it stands for, or a refusal.

door        one face's door: admits or refuses, and guards routes
carriers    where a request may carry its credential: the one extractor
keys        API keys, shown once and kept as hashes
tokens      JWTs, checked against the keys of their issuer
jwks        those keys, fetched and kept
scopes      what a credential is for
threads     hides the threads of agents that it is not for
hosts       which names a server answers for
"""
