"""API keys: made, kept as hashes, found."""

import hashlib
import hmac

import pytest

from rightseat.access import keys
from rightseat.access.keys import AccessKey, Keys
from tests.access.credentials import keys as known


def kept(key: str, name: str = "alice") -> AccessKey:
    return AccessKey(name, keys.prefix_of(key), keys.digest(key), name)


def test_a_new_key_has_a_prefix_for_lookup_and_a_random_secret() -> None:
    key = keys.generate()

    _, prefix, secret = key.split("_")
    assert key.startswith("rs_")
    assert (len(prefix), len(secret)) == (8, 40)
    assert keys.prefix_of(key) == prefix
    assert keys.generate() != key


def test_only_the_hash_of_a_key_is_kept() -> None:
    key = keys.generate()

    assert kept(key).hash == hashlib.sha256(key.encode()).hexdigest()
    assert key.split("_")[2] not in repr(kept(key))
    assert kept(key).hash not in repr(kept(key))


def test_a_key_is_found_among_others() -> None:
    made = {f"user{number}": keys.generate() for number in range(20)}
    all_of_them = Keys(kept(key, name) for name, key in made.items())

    assert {name: getattr(all_of_them.find(key), "name", None) for name, key in made.items()} == {
        name: name for name in made
    }


@pytest.mark.parametrize("secret", ["key-alice", "a.b.c", "rs_short_key"])
def test_a_secret_of_any_format_can_be_a_key(secret: str) -> None:
    found = known(other="another", alice=secret).find(secret)

    assert found is not None
    assert found.name == "alice"
    assert found.prefix == ""


def test_two_keys_with_one_prefix_are_distinguished() -> None:
    one, two = "rs_aaaaaaaa_" + "1" * 40, "rs_aaaaaaaa_" + "2" * 40
    both = Keys([kept(one, "one"), kept(two, "two")])

    assert [found.name for key in (one, two) if (found := both.find(key))] == ["one", "two"]


@pytest.mark.parametrize("change", [lambda key: key[:-1], lambda key: key + "x", str.upper, str.lower, lambda key: ""])
@pytest.mark.parametrize("key", ["rs_aB3dE6gH_" + "xY" * 20, "key-Alice"])
def test_a_key_with_one_wrong_character_is_refused(key: str, change: object) -> None:
    assert callable(change)
    assert Keys([kept(key)]).find(change(key)) is None


@pytest.mark.parametrize("credential", ["", " ", "0" * 64, "rs_", "rs__", "rs_aaaaaaaa_", "nobody"])
@pytest.mark.parametrize("known", [Keys(), known(alice="key-alice")])
def test_malformed_keys_find_no_key(known: Keys, credential: str) -> None:
    assert known.find(credential) is None


def test_the_hash_of_a_key_is_not_a_key() -> None:
    """Who reads the configuration must not get in with what stands there."""
    key = keys.generate()

    assert Keys([kept(key)]).find(kept(key).hash) is None


@pytest.mark.parametrize(
    "credential",
    ["rs_aaaaaaaa_" + "1" * 40, "rs_aaaaaaaa_" + "2" * 40, "rs_bbbbbbbb_" + "1" * 40, "key-alice", ""],
    ids=["right", "wrong", "unknown prefix", "another kind", "empty"],
)
def test_every_credential_is_compared_whole_and_in_constant_time(
    credential: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []
    real = hmac.compare_digest

    def compare(one: str, two: str) -> bool:
        compared.append((one, two))
        return real(one, two)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    Keys([kept("rs_aaaaaaaa_" + "1" * 40)]).find(credential)

    assert len(compared) == 1
    assert {len(value) for value in compared[0]} == {64}
