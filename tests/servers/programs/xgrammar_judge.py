"""xgrammar as a judge of GBNF. Reads `{"grammar": …, "texts": […]}` a line, writes which texts are words of it.

A line of the answer is a list of booleans, or a text that says why the grammar was refused.
"""

import json
import sys

import xgrammar

VOCABULARY = [*(bytes([code]) for code in range(256)), b"<end>"]
TOKENIZER = xgrammar.TokenizerInfo(VOCABULARY, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])


def judge(compiler: xgrammar.GrammarCompiler, grammar: str, texts: list[str]) -> list[bool] | str:
    try:
        compiled = compiler.compile_grammar(grammar)
    except RuntimeError as error:
        return str(error)
    return [accepts(compiled, text) for text in texts]


def accepts(compiled: xgrammar.CompiledGrammar, text: str) -> bool:
    matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=False)
    return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.accept_token(256)


if __name__ == "__main__":
    compiler = xgrammar.GrammarCompiler(TOKENIZER, max_threads=1)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(judge(compiler, asked["grammar"], asked["texts"])), flush=True)
