"""List the functions of this package that a row meets on its way from a CSV file to a policy file and to a decision.

Whoever wants to know the package reads them in this order. Functions are counted once; those of modules that are
imported meanwhile, comprehensions and lambdas are not counted.

    python tools/follow_row.py [--learner {regression,tree}]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import offsettree
from offsettree import LoggedData, OffsetTree, RewardRegression, TableEncoder, load, save
from offsettree.learners import make_learner

PACKAGE = str(Path(offsettree.__file__).parent)
N_ROWS = 400
FIRST_DECISIONS = 20  # after the first 16, a process decides by compiled code

Function = tuple[str, int, str]  # file, line, name


def write_log(path: Path) -> None:
    """Write a log of two numbers, a nominal column and three actions."""
    random = np.random.default_rng(0)
    lines = ["age,income,colour,action,reward,propensity"]
    for _ in range(N_ROWS):
        age, income = random.normal(size=2).round(4)
        colour, action = random.choice(["red", "green", "blue"]), random.choice(["call", "mail", "wait"])
        lines.append(f"{age},{income},{colour},{action},{float((age > 0) == (action == 'call'))},0.3333")
    path.write_text("\n".join(lines) + "\n")


def stages(make_policy: Callable[[], Any], folder: Path) -> dict[str, Callable[[], None]]:
    """Return what happens to the rows, stage by stage; each leaves its result for the next."""
    made: dict[str, Any] = {}
    row = {"age": 0.1, "income": 0.2, "colour": "red"}

    def encode() -> None:
        made["encoder"] = TableEncoder.learn([made["log"].X])
        made["X"] = made["encoder"].encode(made["log"].X)

    def fit() -> None:
        log = made["log"]
        made["policy"] = make_policy().fit(made["X"], log.action, reward=log.reward, propensity=log.propensity)

    return {
        "read": lambda: made.update(log=LoggedData.read(folder / "log.csv")),
        "encode": encode,
        "fit": fit,
        "save": lambda: save(made["policy"], folder / "policy.ot", encoder=made["encoder"]),
        "load": lambda: made.update(loaded=load(folder / "policy.ot")),
        "decide": lambda: made["loaded"].decide(row),
    }


def follow(make_policy: Callable[[], Any]) -> dict[str, list[Function]]:
    """Return the functions that each stage is the first to call, in the order of their calls."""
    seen: set[Function] = set()
    found: dict[str, list[Function]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            function = code.co_filename[len(PACKAGE) + 1 :], code.co_firstlineno, code.co_qualname
            if function not in seen:
                seen.add(function)
                found[stage].append(function)

    with tempfile.TemporaryDirectory() as name:
        write_log(Path(name) / "log.csv")
        before = stages(make_policy, Path(name))
        first = [before["decide"]] * FIRST_DECISIONS
        for call in (*before.values(), *first, before["load"], before["decide"]):
            call()  # before: what is imported or compiled on the way is not the row's
        profile = sys.getprofile()
        for stage, call in stages(make_policy, Path(name)).items():
            found[stage] = []
            sys.setprofile(note)
            try:
                call()
            finally:
                sys.setprofile(profile)
    return found


POLICIES: dict[str, Callable[[], Any]] = {
    "regression": lambda: RewardRegression(make_learner("ridge", kind="regressor"), random_state=0),
    "tree": lambda: OffsetTree(random_state=0),
}


def main() -> None:
    """Print the functions, stage by stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learner", choices=tuple(POLICIES), default="regression")
    found = follow(POLICIES[parser.parse_args().learner])
    for stage, functions in found.items():
        print(f"{stage}: {len(functions)}")
        for file, line, name in functions:
            print(f"    {file}:{line} {name}")
    print(f"in all: {sum(map(len, found.values()))}")


if __name__ == "__main__":
    main()
