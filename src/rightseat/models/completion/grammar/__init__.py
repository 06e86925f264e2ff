"""What a model may say next: JSON Schema → nodes → the grammar of an engine.

schema             the way in: a `Builder` for one request, and what it promises
work               one schema while it is built; it calls
  merging, combining, disjoint, references     $ref, allOf, anyOf, oneOf
  listing                                      enum, const
  objects, arrays                              what has parts
  strings, patterns, lengths, formats          text; charsets, literals below them
  amounts, numbers, multiples                  numbers
keywords, bounds   which keywords are kept, and how much of everything
endings            that recursion comes to an end
nodes              the grammar itself
gbnf, lark         how engines want it written; free_text below them
json_schema        for engines that take nothing else
checking           the last word on a finished value
"""
