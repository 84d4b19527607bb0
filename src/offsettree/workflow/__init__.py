"""What the command line does, in Python: from a log to a policy with an estimate of its value."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand
from offsettree.workflow.comparison import Comparison
from offsettree.workflow.learned import Learned
from offsettree.workflow.learners import LEARNERS, make_policy
from offsettree.workflow.learning import learn_policy
from offsettree.workflow.verdict import Advice, advice, conclusion, verdict

if TYPE_CHECKING:
    from offsettree.workflow.facts import learned_facts
    from offsettree.workflow.inspection import inspect_log
    from offsettree.workflow.learning_over_sets import learn_over_sets
    from offsettree.workflow.set_facts import facts_over_sets
    from offsettree.workflow.streaming import learn_from_stream

__all__ = [
    "LEARNERS",
    "Advice",
    "Comparison",
    "Learned",
    "advice",
    "conclusion",
    "facts_over_sets",
    "inspect_log",
    "learn_from_stream",
    "learn_over_sets",
    "learn_policy",
    "learned_facts",
    "make_policy",
    "verdict",
]

_FILES = {
    "facts": ("learned_facts",),
    "inspection": ("inspect_log",),
    "learning_over_sets": ("learn_over_sets",),
    "set_facts": ("facts_over_sets",),
    "streaming": ("learn_from_stream",),
}
__getattr__ = names_on_demand(__name__, _FILES)
