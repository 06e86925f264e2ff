"""Compiles JSON Schema to grammars that constrain what a model generates.

schema             the entry point: a `GrammarBuilder` for one request
compiler           compiles one schema; it uses the modules below, which call it by protocol
  all_of, any_of, disjoint, references         $ref, allOf, anyOf, oneOf
  enums                                        enum, const
  objects, arrays                              containers
  strings, regex, lengths, formats             text; charsets and prefix_tree below them
  numeric_keywords, numbers, multiples         numbers
keywords, bounds   the supported keywords, and limits
recursion          rejects endless and left recursion
derivative         the rest of a grammar after a prefix
nodes              the nodes of a grammar
output             writes GBNF, Lark and JSON Schema for backends; free_text below them
validation         validates a finished value
"""
