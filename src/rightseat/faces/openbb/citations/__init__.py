"""Citations: sources, markers in the text and their placement."""
