"""Every error that offsettree raises on purpose.

::

    OffsetTreeError
    ├── DatasetError        (ValueError)   a dataset that cannot be downloaded, or a file that is not one
    ├── LogError            (ValueError)   rows that cannot be learned from or scored on
    │   ├── ActionError                    labels of the wrong kind, unknown, or too few
    │   ├── RewardError                    rewards missing, not finite, or outside ``reward_range``
    │   └── PropensityError                propensities missing or outside (0, 1]
    ├── FeatureError        (ValueError)   X of the wrong shape, names or content
    │   └── FeatureTypeError (TypeError)   X that holds, or is, something else than numbers
    ├── JavaError           (RuntimeError) no Java to run Weka, or Java that cannot go on
    ├── MissingExtraError   (ImportError)  a package that only some parts need, and that is not installed
    ├── ParameterError      (ValueError)   an argument that cannot be meant
    ├── PolicyFileError     (ValueError)   a policy that cannot be written to a file, or a file that holds none
    ├── ScratchError        (OSError)      no room for files that are needed for a while
    └── TopologyError       (ValueError)   a tree that is not a binary tree over the actions
    OffsetTreeWarning       (UserWarning)  what is more likely a slip than meant

All that judge input are also ``ValueError``, so that scikit-learn's tools treat them as they treat their own.
"""

__all__ = [
    "ActionError",
    "DatasetError",
    "FeatureError",
    "FeatureTypeError",
    "JavaError",
    "LogError",
    "MissingExtraError",
    "OffsetTreeError",
    "OffsetTreeWarning",
    "ParameterError",
    "PolicyFileError",
    "PropensityError",
    "RewardError",
    "ScratchError",
    "TopologyError",
]


class OffsetTreeError(Exception):
    """Root of all errors of this package."""


class OffsetTreeWarning(UserWarning):
    """Something can be meant as it stands, but is more likely a slip, and would spoil the result."""


class DatasetError(OffsetTreeError, ValueError):
    """A dataset cannot be downloaded, or a file does not hold one."""


class LogError(OffsetTreeError, ValueError):
    """The rows of a log cannot be learned from, or a policy cannot be scored on them."""


class ActionError(LogError):
    """Action labels are missing, of the wrong kind, unknown to the policy, or fewer than two."""


class RewardError(LogError):
    """Rewards are missing, not finite, or outside the stated range."""


class PropensityError(LogError):
    """Propensities are missing or not in (0, 1]."""


class FeatureError(OffsetTreeError, ValueError):
    """X has the wrong shape, the wrong names, or content the learner cannot take."""


class FeatureTypeError(FeatureError, TypeError):
    """X holds, or is, something else than numbers, which scikit-learn's tools expect to be a ``TypeError``."""


class MissingExtraError(OffsetTreeError, ImportError):
    """A package that only some parts of this one need cannot be imported."""


class ParameterError(OffsetTreeError, ValueError):
    """An argument cannot be meant as it stands."""


class PolicyFileError(OffsetTreeError, ValueError):
    """A policy cannot be written to a file, or a file is damaged, forged, too new, or no policy at all."""


class ScratchError(OffsetTreeError, OSError):
    """The disk has no room for the files that a fit out of core needs for a while."""


class TopologyError(OffsetTreeError, ValueError):
    """The structure is not a binary tree with every action at exactly one leaf."""


class JavaError(OffsetTreeError, RuntimeError):
    """Java is not installed, did not start, was lost in a fork, or ran out of memory."""
