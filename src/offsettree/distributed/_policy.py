"""What the policies that are fitted on an engine have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from offsettree.base import BasePolicy
from offsettree.distributed._fit import Job, started
from offsettree.distributed._statistics import SpreadStatistics
from offsettree.distributed.files import Columns, LogPart, find_files

OWN = ("client", "storage")


class Distributed(BasePolicy):
    """Fits the policy of a class of one machine on an engine; all else is that class's.

    So are the parameters, before `client` and `storage`.
    """

    client: Any
    storage: Any
    _local_class: type[BasePolicy]

    if TYPE_CHECKING:

        def __init__(self, *args: Any, client: Any = None, storage: Any = None, **parameters: Any) -> None: ...

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "_local_class" in vars(cls):
            cls.__init__ = _with_engine(cls._local_class)  # type: ignore[method-assign]

    def fit(  # type: ignore[override]
        self,
        files: Any,
        *,
        action: str | None = None,
        reward: str | None = None,
        propensity: str | float | None = None,
        features: Sequence[str] | None = None,
        encoder: Any = None,
        **options: Any,
    ) -> Self:
        """Learn from the files of a log.

        Parameters
        ----------
        files : str, path or list of such
            A pattern such as ``"logs/*.parquet"``, a folder, or files; on this machine or at an address of fsspec. A
            worker reads one file at a time: let there be several per worker.
        action, reward, propensity : str, optional
            Their columns, by default guessed by name; the propensity may be one number for all rows.
        features : list of str, optional
            The columns to learn from, by default all others. They must hold numbers, unless there is an encoder.
        encoder : TableEncoder, optional
            Turns the features of each chunk into numbers.
        **options : Any
            Further options of `LoggedData.scan`, such as `format`.
        """
        roles = {"action": action, "reward": reward, "propensity": propensity, "features": features}
        columns = Columns({name: value for name, value in roles.items() if value is not None}, encoder, options)
        return self.fit_files(find_files(files), columns)

    def fit_files(self, files: list[LogPart], columns: Columns) -> Self:
        """Do as `fit`, with files that were found, and columns that may say which rows are wanted."""
        with self._all_or_nothing():
            local = self._unfitted()
            local._check_settings()
            self._check(local)
            with started(local, self.client, self.storage, files, columns) as job:
                statistics, finite = job.routed(files, columns)
                self._train(job, statistics, finite)
                self.client_ = job.runner.engine.client
                self.n_tasks_ = {"run": job.runner.n_run, "found": job.runner.n_found, "lost": job.runner.n_lost}
                self.task_seconds_ = job.runner.seconds
            local._prepare_anew()
            state = {name: value for name, value in vars(local).items() if name not in local.get_params(deep=False)}
            self.__dict__.update(state)
        return self

    def to_local(self) -> Any:
        """Return the fitted policy as one of its class of one machine, without a client: to save, to pickle."""
        check_is_fitted(self)
        local = self._unfitted()
        own = {*self.get_params(deep=False), "client_", "n_tasks_", "task_seconds_"}
        local.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def _unfitted(self) -> Any:
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        return clone(self._local_class(**given))

    def _check(self, local: Any) -> None:
        """Refuse settings that need all rows at once."""
        raise NotImplementedError

    def _train(self, job: Job, statistics: SpreadStatistics, finite: bool) -> None:
        """Train the policy of a job from the rows in the store."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "client_"} | {"client": None}


def _with_engine(local: type[BasePolicy]) -> Callable[..., None]:
    """Return the constructor of a class of one machine, with the engine's parameters as well."""

    def __init__(self: Any, *args: Any, client: Any = None, storage: Any = None, **parameters: Any) -> None:  # noqa: N807
        local.__init__(self, *args, **parameters)
        self.client, self.storage = client, storage

    signature = inspect.signature(local.__init__)
    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in OWN]
    __init__.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *own])  # type: ignore[attr-defined]
    return __init__
