"""llguidance as a judge: it reads schemas and Lark grammars by itself, and replays bytes."""

from typing import Any

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper


class Bytes:
    """A tokenizer with one token for each byte."""

    eos_token_id = 256
    bos_token_id = None
    tokens = [*(bytes([code]) for code in range(256)), b"<end>"]  # noqa: RUF012
    special_token_ids = [256]  # noqa: RUF012

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


TOKENIZER = LLTokenizer(TokenizerWrapper(Bytes()), n_vocab=257, slices=[])


class Judge:
    """`problem` says why llguidance does not take the grammar, if so."""

    def __init__(self, grammar: str) -> None:
        self.matcher = LLMatcher(TOKENIZER, grammar, log_level=0)
        self.problem = self.matcher.get_error()

    def accepts(self, text: str) -> bool:
        data = list(text.encode())
        taken = self.matcher.try_consume_tokens(data)
        accepted = taken == len(data) and self.matcher.is_accepting()
        self.matcher.reset()
        return accepted


def of_schema(schema: dict[str, Any] | bool) -> Judge:
    """`oneOf` as `anyOf`: it cannot do better."""
    return Judge(
        LLMatcher.grammar_from_json_schema(schema if isinstance(schema, dict) else {}, {"coerce_one_of": True})
    )


def of_lark(text: str) -> Judge:
    return Judge(text)
