"""A simulated e-mail campaign: mixed features with missing values, and a logging policy that explores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree.exceptions import ParameterError

__all__ = ["Campaign", "make_campaign"]

MAILS = ("bundle", "discount", "free-shipping", "new-arrivals", "no-mail", "win-back")
COUNTRIES = ("DE", "FR", "GB", "IT", "NL", "PL", "SE", "US")
CHANNELS = ("app", "organic", "paid-search", "partner", "social")


@dataclass(frozen=True, eq=False)
class Campaign:
    """The log of a campaign, with the true rewards that a real log lacks.

    Parameters
    ----------
    columns : dict of str to array
        The log as a file would have it: features, then `mail`, `visited` and `propensity`. Ready for
        ``pandas.DataFrame(columns)``.
    expected : array of shape (n_rows, n_actions)
        The probability of a visit after each mail.
    actions : array of shape (n_actions,)
        The mails, in the order of the columns of `expected`.
    """

    columns: dict[str, Any]
    expected: NDArray[np.float64]
    actions: NDArray[np.str_]

    def value(self, chosen: Any) -> float:
        """Return the true mean reward of choosing these mails, one per row."""
        position = np.searchsorted(self.actions, np.asarray(chosen))
        return float(self.expected[np.arange(len(position)), position].mean())


def make_campaign(n_rows: int = 20_000, *, random_state: int | None = None) -> Campaign:
    """Simulate the choice among six mails to each customer, and the visits that follow.

    The best mail depends on the customer: inactive ones respond to a win-back mail, small baskets to free shipping,
    young people on a phone to new arrivals, those who never bought to a discount, and some visit more without mail.
    The logging policy follows a marketer's rule in 60 % of the rows; in the others it draws a mail at random, so that
    every mail is explored.

    Parameters
    ----------
    n_rows : int, default=20_000
        Number of decisions.
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    Campaign
        With the log in `columns`: `customer_id`, `sent_at`, `age`, `country`, `channel`, `device`, `tenure_months`,
        `days_since_visit`, `basket` (missing for those who never bought), `newsletter`, `currency` (always the same),
        and `mail`, `visited`, `propensity`.

    Examples
    --------
    >>> campaign = make_campaign(1000, random_state=0)
    >>> sorted(set(campaign.columns["mail"].tolist())) == campaign.actions.tolist()
    True
    >>> best = campaign.actions[campaign.expected.argmax(axis=1)]
    >>> campaign.value(best) > campaign.value(campaign.columns["mail"])
    True
    """
    if n_rows < 1:
        raise ParameterError(f"n_rows must be at least 1; got {n_rows}.")
    random = np.random.default_rng(random_state)
    features = _draw_customers(n_rows, random)
    expected = _visit_probability(features)
    rule = _marketers_rule(features)
    probability = np.full((n_rows, len(MAILS)), 0.4 / len(MAILS))
    probability[np.arange(n_rows), rule] += 0.6
    drawn = random.random((n_rows, 1)) < np.cumsum(probability, axis=1)
    chosen = np.minimum(drawn.argmax(axis=1), len(MAILS) - 1)
    rows = np.arange(n_rows)
    visited = random.random(n_rows) < expected[rows, chosen]
    log = {"mail": np.array(MAILS)[chosen], "visited": visited.astype(int), "propensity": probability[rows, chosen]}
    return Campaign(features | log, expected, np.array(MAILS))


def _draw_customers(n_rows: int, random: np.random.Generator) -> dict[str, Any]:
    age = np.clip(random.normal(41, 14, n_rows), 18, 90).round()
    on_phone = random.random(n_rows) < np.where(age < 40, 0.7, 0.35)
    tenure = random.gamma(1.5, 14, n_rows).round(1)
    days = np.minimum(random.exponential(40, n_rows), 30 * tenure + 1).round()
    basket = random.lognormal(3.6, 0.7, n_rows).round(2)
    never_bought = random.random(n_rows) < np.where(tenure < 6, 0.6, 0.15)
    start = np.datetime64("2025-03-03T06:00:00", "s")
    minutes = np.sort(random.integers(0, 8 * 7 * 24 * 60, n_rows)).astype("timedelta64[m]")
    return {
        "customer_id": random.permutation(n_rows) + 100_000,
        "sent_at": start + minutes,
        "age": np.where(random.random(n_rows) < 0.05, np.nan, age),
        "country": random.choice(COUNTRIES, n_rows, p=[0.22, 0.14, 0.16, 0.1, 0.08, 0.09, 0.06, 0.15]),
        "channel": random.choice(CHANNELS, n_rows, p=[0.2, 0.3, 0.22, 0.08, 0.2]),
        "device": np.where(on_phone, "phone", np.where(random.random(n_rows) < 0.2, "tablet", "desktop")),
        "tenure_months": tenure,
        "days_since_visit": days,
        "basket": np.where(never_bought, np.nan, basket),
        "newsletter": random.random(n_rows) < 0.45,
        "currency": np.full(n_rows, "EUR"),
    }


def _visit_probability(features: dict[str, Any]) -> NDArray[np.float64]:
    age = np.where(np.isnan(features["age"]), 41, features["age"])
    days, basket = features["days_since_visit"], features["basket"]
    new = np.isnan(basket)
    spent = np.where(new, 0, basket)
    phone, newsletter = features["device"] == "phone", features["newsletter"]
    weekend = (features["sent_at"].astype("datetime64[D]").astype(int) + 3) % 7 >= 5
    habit = -2.3 + 0.9 * newsletter - 0.012 * days + 0.25 * weekend + 0.3 * np.isin(features["channel"], ["app"])
    score = np.tile(habit[:, np.newaxis], (1, len(MAILS)))
    place = {mail: i for i, mail in enumerate(MAILS)}
    score[:, place["bundle"]] += 1.1 * (spent > 60) - 0.3
    score[:, place["discount"]] += 1.2 * new + 0.5 * np.isin(features["country"], ["PL", "IT"]) - 0.2
    score[:, place["free-shipping"]] += 1.0 * ((spent > 0) & (spent < 35)) + 0.4 * (features["country"] == "US")
    score[:, place["new-arrivals"]] += 1.3 * (phone & (age < 35)) - 0.2
    score[:, place["no-mail"]] += 1.3 * (newsletter & (days < 7)) - 0.6
    score[:, place["win-back"]] += np.clip(0.03 * (days - 30), -0.8, 1.8)
    return np.asarray(1 / (1 + np.exp(-score)))


def _marketers_rule(features: dict[str, Any]) -> NDArray[np.intp]:
    place = {mail: i for i, mail in enumerate(MAILS)}
    conditions = [np.isnan(features["basket"]), features["days_since_visit"] > 60, features["newsletter"]]
    return np.select(
        conditions, [place["new-arrivals"], place["discount"], place["bundle"]], default=place["free-shipping"]
    ).astype(np.intp)
