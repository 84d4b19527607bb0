"""The paper's results, run again: one file per table or figure."""
