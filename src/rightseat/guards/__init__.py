"""Guards: checks of content before, during and after a model response. One file per guard."""
