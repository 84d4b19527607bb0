"""The exact search for the best shallow tree of `PolicyTree`."""
