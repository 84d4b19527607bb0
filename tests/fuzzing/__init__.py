"""Cases made wrong at random, each from a number: `tools/fuzz.py` runs them, `test_corpus.py` what it found."""
