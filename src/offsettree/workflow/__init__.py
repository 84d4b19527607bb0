"""What the command line does, in Python: from a log to a policy with an estimate of its value."""

from offsettree.workflow.comparison import Comparison
from offsettree.workflow.learned import Learned
from offsettree.workflow.learners import LEARNERS, make_policy
from offsettree.workflow.learning import learn_policy
from offsettree.workflow.verdict import Advice, advice, conclusion, verdict

__all__ = [
    "LEARNERS",
    "Advice",
    "Comparison",
    "Learned",
    "advice",
    "conclusion",
    "learn_policy",
    "make_policy",
    "verdict",
]
