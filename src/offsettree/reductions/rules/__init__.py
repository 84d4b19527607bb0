"""The search for the best shallow tree, and the tree that it finds."""
