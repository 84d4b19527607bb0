"""Scripts that make what the repository holds."""
