"""The whole loop in a minute: a log, a policy learned from it, and what that policy is worth on unseen rows."""

from __future__ import annotations

import time

from sklearn.datasets import load_digits

from offsettree import LoggedData, OffsetForest, simulate_log


def main() -> None:
    """Reveal one of ten rewards per digit, learn from that, and compare."""
    X, digit = load_digits(return_X_y=True)
    log = simulate_log(X, digit, logging="uniform", random_state=0)
    train, test = log.split(test_size=0.3, random_state=0)
    print(f"A log of {len(log):,} decisions among {len(log.actions)} actions, drawn at random: which digit is this?")
    print("Only the answer given was rewarded, 1 if right and 0 if not; the right answer itself was never seen.")

    print("Learning. The first fit on a machine compiles our kernels, half a minute or so, and keeps them.", flush=True)
    started = time.perf_counter()
    policy = OffsetForest(n_jobs=-1, random_state=0).fit(**train.arrays())
    seconds = time.perf_counter() - started

    logged = test.reward.mean()
    estimated = policy.score(**test.arrays())
    # A simulation knows what a real log does not: the right answer of every unseen row.
    _, right = LoggedData(X, digit, reward=[1.0] * len(digit), propensity=1.0).split(test_size=0.3, random_state=0)
    earned = (policy.predict(right.X) == right.action).mean()
    print(f"The logging policy earned {logged:.3f} per decision.")
    print(
        f"The learned policy earns  {earned:.3f} on {len(test)} unseen rows "
        f"(estimated from their log alone: {estimated:.3f})."
    )
    print(
        f"Learned from {len(train):,} rows in {seconds:.1f} s: {len(policy.estimators_)} trees of "
        f"{len(log.actions) - 1} contests each, which vote."
    )


if __name__ == "__main__":
    main()
