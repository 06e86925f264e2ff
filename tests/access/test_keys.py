"""API keys: made, kept as hashes, found."""

import hashlib
import hmac

import pytest

from rightseat.access import keys
from rightseat.access.keys import Key, Keys
from tests.access.credentials import keys as known


def kept(key: str, name: str = "alice") -> Key:
    return Key(name, keys.prefix_of(key), keys.digest(key), name)


def test_a_new_key_has_a_prefix_to_find_it_by_and_a_secret_that_nobody_guesses() -> None:
    key = keys.new()

    _, prefix, secret = key.split("_")
    assert key.startswith("rs_")
    assert (len(prefix), len(secret)) == (8, 40)
    assert keys.prefix_of(key) == prefix
    assert keys.new() != key


def test_what_is_kept_is_a_hash() -> None:
    key = keys.new()

    assert kept(key).hash == hashlib.sha256(key.encode()).hexdigest()
    assert key.split("_")[2] not in repr(kept(key))
    assert kept(key).hash not in repr(kept(key))


def test_a_key_is_found_among_others() -> None:
    made = {f"user{number}": keys.new() for number in range(20)}
    all_of_them = Keys(kept(key, name) for name, key in made.items())

    assert {name: getattr(all_of_them.find(key), "name", None) for name, key in made.items()} == {
        name: name for name in made
    }


@pytest.mark.parametrize("secret", ["key-alice", "a.b.c", "rs_short_key"])
def test_a_secret_that_was_not_made_here_is_a_key_too(secret: str) -> None:
    found = known(other="another", alice=secret).find(secret)

    assert found is not None
    assert found.name == "alice"
    assert found.prefix == ""


def test_two_keys_with_one_prefix_are_told_apart() -> None:
    one, two = "rs_aaaaaaaa_" + "1" * 40, "rs_aaaaaaaa_" + "2" * 40
    both = Keys([kept(one, "one"), kept(two, "two")])

    assert [found.name for key in (one, two) if (found := both.find(key))] == ["one", "two"]


@pytest.mark.parametrize("change", [lambda key: key[:-1], lambda key: key + "x", str.upper, str.lower, lambda key: ""])
@pytest.mark.parametrize("key", ["rs_aB3dE6gH_" + "xY" * 20, "key-Alice"])
def test_a_key_that_is_nearly_right_is_wrong(key: str, change: object) -> None:
    assert callable(change)
    assert Keys([kept(key)]).find(change(key)) is None


@pytest.mark.parametrize("credential", ["", " ", "0" * 64, "rs_", "rs__", "rs_aaaaaaaa_", "nobody"])
@pytest.mark.parametrize("known", [Keys(), known(alice="key-alice")])
def test_what_is_no_key_finds_none(known: Keys, credential: str) -> None:
    assert known.find(credential) is None


def test_the_hash_of_a_key_is_not_a_key() -> None:
    """Who reads the configuration must not get in with what stands there."""
    key = keys.new()

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
