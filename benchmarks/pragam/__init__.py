"""PragamSVC beside the figures of its paper and its peers."""
