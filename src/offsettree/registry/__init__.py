"""Policies, formats of logs and base learners by name, and how to add some. No scikit-learn.

Another package offers its own by entry points of the groups ``offsettree.policies``, ``offsettree.formats`` and
``offsettree.learners``: a name, and the module or object whose import registers it. They are looked up when a name is
not known otherwise, and when all are listed.
"""

from offsettree.registry.built_in import CLASSIFIERS, FORMATS, POLICIES, REGRESSORS
from offsettree.registry.register import register_format, register_learner, register_policy
from offsettree.registry.registry import CandidateEntry, FormatEntry, LearnerEntry, PolicyEntry, Registry, resolve

__all__ = [
    "CLASSIFIERS",
    "FORMATS",
    "POLICIES",
    "REGRESSORS",
    "CandidateEntry",
    "FormatEntry",
    "LearnerEntry",
    "PolicyEntry",
    "Registry",
    "register_format",
    "register_learner",
    "register_policy",
    "resolve",
]
