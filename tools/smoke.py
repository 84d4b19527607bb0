"""Run by ``make dist`` in an environment that holds the built wheel and its base dependencies only.

A policy is learned, saved, loaded and asked, the command line answers, and the doctests of the installed package run.
Examples that need an extra are counted, not failed: they must say so by an error of ours, or by an import of what the
extra brings.
"""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

EXTRAS = {
    *(
        "pandas",
        "polars",
        "pyarrow",
        "onnx",
        "onnxruntime",
        "matplotlib",
        "skops",
        "weka",
        "jpype",
        "psycopg",
        "uvicorn",
    ),
    *("httptools", "msgspec", "prometheus_client", "starlette", "uvloop", "IPython", "fastapi"),
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def smoke() -> None:
    """Go once from a log to a decision of a loaded policy."""
    import numpy as np
    from sklearn.datasets import load_iris

    import offsettree

    assert "site-packages" in str(offsettree.__file__), f"the wheel is not what is imported: {offsettree.__file__}"
    X, y = load_iris(return_X_y=True)
    log = offsettree.simulate_log(X, y, random_state=0)
    policy = offsettree.OffsetTree(random_state=0).fit(**log.arrays())
    offsettree.save(policy, "policy.ot")
    assert (offsettree.load("policy.ot").predict(X) == policy.predict(X)).all()
    assert np.isfinite(offsettree.evaluate(policy.predict(X), **log.arrays()).value)
    for words in (["--version"], ["learn", "--help"], ["inspect", "policy.ot"]):
        done = subprocess.run([sys.executable, "-m", "offsettree", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    print(f"offsettree {offsettree.__version__}: learned, saved, loaded, asked; the command line answers")


class Runner(doctest.DocTestRunner):
    """Tells failures from examples that need an extra."""

    needs_extra = 0

    def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
        """Leave out what an extra is missing for, and all that follows from it in the same docstring."""
        error = exc_info[1]
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in EXTRAS
        if missing or type(error).__name__ == "MissingExtraError":
            self.needs_extra += 1
            raise NeedsExtraError
        super().report_unexpected_exception(out, test, example, exc_info)


class NeedsExtraError(Exception):
    """An example needs a package that only an extra brings."""


def doctests() -> int:
    """Run the doctests of every module that can be imported; return the number of failures."""
    import offsettree

    finder, runner = doctest.DocTestFinder(exclude_empty=True), Runner(optionflags=FLAGS)
    n_run = 0
    for info in pkgutil.walk_packages(offsettree.__path__, "offsettree."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in EXTRAS:
                raise
            continue
        except Exception as error:
            if type(error).__name__ != "MissingExtraError":
                raise
            continue
        for test in finder.find(module):
            if test.examples:
                try:
                    runner.run(test)
                    n_run += 1
                except NeedsExtraError:
                    continue
    results = runner.summarize(verbose=False)
    print(f"{n_run} docstrings run, {results.failed} examples failed, {runner.needs_extra} docstrings need an extra")
    if n_run < 50:
        print("fewer docstrings than there are: something is not found")
        return 1
    return results.failed


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(Path(folder))
        smoke()
        failed = doctests()
        os.chdir("/")
    sys.exit(1 if failed else 0)
