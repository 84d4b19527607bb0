"""Print the oldest versions that pyproject.toml allows, as constraints for pip: ``make test-oldest`` installs these."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
# What tests with: its age says nothing of what the package works with.
TOOLS = {"hypothesis", "import-linter", "mypy", "pytest", "pytest-cov", "pytest-xdist", "ruff", "scipy-stubs"}


def oldest(extras: list[str]) -> list[str]:
    """Return ``name==version`` for the dependencies of the package and of some extras."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    found = {}
    for each in wanted:
        match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", each)
        if match is None:
            raise SystemExit(f"every dependency needs a lower bound, name>=version; {each!r} has none.")
        if match[1] not in TOOLS:
            found[match[1]] = match[2]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*")
    print("\n".join(oldest(parser.parse_args().extras)))
