"""Guards around a run: the texts of its events, verdicts and the pipeline."""
