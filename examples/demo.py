"""The whole loop in a minute or two, by the command line: a log, a policy, what it is worth, a report, decisions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from offsettree import load
from offsettree.cli import main as offsettree
from offsettree.datasets import make_campaign


def main() -> None:
    """Simulate a campaign, learn from its log, and compare with what only a simulation knows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--time-budget", type=float, default=40.0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    log, policy, report = (options.out / name for name in ("campaign.csv", "policy.ot", "report.html"))

    print("Which of six mails should a customer get? A log of what was sent, at random in part, and who visited.")
    print("The first run on a machine compiles our kernels, half a minute or so, and keeps them.\n", flush=True)
    call("simulate", "campaign", "--rows", options.rows, "-o", log)
    learn = ["learn", log, "--action", "mail", "--time-budget", options.time_budget]
    call(*learn, "-o", policy, "--report", report)

    campaign = make_campaign(options.rows, random_state=1)  # customers that the log does not have
    learned = load(policy)
    decided = learned.predict(pd.DataFrame(campaign.columns))
    always = learned.manifest["facts"]["constant"]["action"]
    best = campaign.actions[campaign.expected.argmax(axis=1)]
    print(
        f"\nA simulation knows the truth: on {options.rows:,} new customers what was logged earns "
        f"{campaign.value(campaign.columns['mail']):.3f} per mail, always {always!r} "
        f"{campaign.value(np.full(options.rows, always)):.3f}, the learned policy {campaign.value(decided):.3f}; "
        f"no policy can earn more than {campaign.value(best):.3f}."
    )
    print(f"The report, for any browser: {report}")


def call(*arguments: object) -> None:
    """Run a command of the command line, and show it."""
    words = [str(each) for each in arguments]
    print(f"$ offsettree {' '.join(words)}", flush=True)
    if code := offsettree(words):
        sys.exit(code)
    print()


if __name__ == "__main__":
    main()
