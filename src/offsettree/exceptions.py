"""Every error that offsettree raises on purpose.

::

    OffsetTreeError
    ├── DatasetError        (ValueError)   a failed download, or a file that is not a dataset
    ├── LogError            (ValueError)   rows that cannot be learned from or scored on
    │   ├── EmptyLogError                  a log without rows
    │   ├── ActionError                    labels of the wrong kind, unknown, or too few
    │   ├── RewardError                    rewards missing, not finite, or outside ``reward_range``
    │   └── PropensityError                propensities missing or outside (0, 1]
    ├── EngineError         (RuntimeError) an engine that cannot be reached, or whose workers keep dying
    ├── FeatureError        (ValueError)   X of the wrong shape, names or content
    │   └── FeatureTypeError (TypeError)   X that is not numeric
    ├── JavaError           (RuntimeError) Java is missing or failed while running Weka
    ├── MissingExtraError   (ImportError)  an optional dependency that is not installed
    ├── ParameterError      (ValueError)   an invalid argument
    ├── PolicyFileError     (ValueError)   a policy that cannot be saved, or a file that is not a policy
    ├── ScratchError        (OSError)      no disk space for temporary files
    └── TopologyError       (ValueError)   a tree that is not a binary tree over the actions
    OffsetTreeWarning       (UserWarning)  valid input that is probably a mistake

All errors on input are also ``ValueError``, so that scikit-learn's tools treat them as they treat their own.

A message may name parameters: ``ParameterError("use ", Parameter("interval", "betting"), ".")`` says
``interval='betting'`` in Python and ``--interval betting`` on the command line.
"""

from offsettree._messages import Message, Parameter

__all__ = [
    "ActionError",
    "DatasetError",
    "EmptyLogError",
    "EngineError",
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
    """Root of all errors of this package.

    Parameters
    ----------
    *parts : str, Parameter or Message
        The text of the message, in parts if it names parameters.
    """

    def __init__(self, *parts: str | Parameter) -> None:
        # One argument again, which a copy or a pickle is made from.
        super().__init__(Message(*parts))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the message names, in order."""
        message: Message = self.args[0]
        return message.parameters


class OffsetTreeWarning(UserWarning):
    """The input is valid but probably a mistake that would spoil the result."""


class DatasetError(OffsetTreeError, ValueError):
    """A dataset cannot be downloaded, or a file does not hold one."""


class LogError(OffsetTreeError, ValueError):
    """The rows of a log cannot be learned from, or a policy cannot be scored on them."""


class EmptyLogError(LogError):
    """A log has no rows; a file of several may be so."""


class ActionError(LogError):
    """Action labels are missing, of the wrong kind, unknown to the policy, or fewer than two."""


class RewardError(LogError):
    """Rewards are missing, not finite, or outside the stated range."""


class PropensityError(LogError):
    """Propensities are missing or not in (0, 1]."""


class FeatureError(OffsetTreeError, ValueError):
    """X has the wrong shape, the wrong names, or content the learner cannot take."""


class FeatureTypeError(FeatureError, TypeError):
    """X is not numeric; scikit-learn's tools expect a ``TypeError`` for that."""


class MissingExtraError(OffsetTreeError, ImportError):
    """An optional dependency cannot be imported."""


class ParameterError(OffsetTreeError, ValueError):
    """An argument is invalid."""


class PolicyFileError(OffsetTreeError, ValueError):
    """A policy cannot be saved, or a file is damaged, forged, too new, or not a policy."""


class ScratchError(OffsetTreeError, OSError):
    """The disk has no space for the temporary files of an out-of-core fit."""


class TopologyError(OffsetTreeError, ValueError):
    """The structure is not a binary tree with every action at exactly one leaf."""


class EngineError(OffsetTreeError, RuntimeError):
    """An engine of workers cannot be reached, or its workers keep dying."""


class JavaError(OffsetTreeError, RuntimeError):
    """Java is not installed, did not start, was lost in a fork, or ran out of memory."""
