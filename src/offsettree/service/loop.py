"""One loop: a request becomes rows with exact probabilities, and stored rows become its answer."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from offsettree.service.asking import Asker, TimedOutError
from offsettree.service.deciders import Decider
from offsettree.service.exploration import draw, epoch_rate, mixed, uniform_draw, vector, without
from offsettree.service.features import FeatureValueError, check_features
from offsettree.service.formula import Formula
from offsettree.service.health import Rates
from offsettree.service.learning import Learning
from offsettree.service.records import Activate, AddDecisions, AddReward, Decision, LoopRecord
from offsettree.service.requests import (
    LEAST_PROBABILITY,
    Action,
    Answer,
    DecideRequest,
    RequestError,
    RewardRequest,
    Slot,
    check_id,
    decode_actions,
    decode_context,
    digest_of,
    encode,
)
from offsettree.service.rows import Exploration
from offsettree.service.settings import LoopSettings, ServerSettings, seconds
from offsettree.service.versions import Running
from offsettree.service.writer import GroupWriter

__all__ = ["Choice", "Loop", "Question"]


PROBABILITY = 20  # characters of one in a row, about
MOST_PAIRS = 1_000_000  # of features of a context and of actions: about ten milliseconds of the learner


class Question(NamedTuple):
    """A checked request: what the running policy is asked."""

    request: DecideRequest
    context: dict[str, Any]
    actions: list[Action]
    running: Running
    digest: bytes


class Choice(NamedTuple):
    """A policy's answer: the position of its action, predicted rewards, and whether it failed instead."""

    greedy: int
    scores: list[float] | None
    fault: bool = False


class Loop:
    """Decides, and takes rewards."""

    def __init__(
        self, record: LoopRecord, settings: LoopSettings, limits: ServerSettings, writer: GroupWriter, now: float
    ) -> None:
        self.record, self.settings, self.limits = record, settings, limits
        self.learning = Learning(record, settings, writer, now)
        self.count = int(writer.store.summary(record.id)["count"])
        self.rates = Rates()
        self.faults = 0
        self.last_fault: str | None = None
        self.learn_fault: str | None = None  # why the last `learn` from the log gave no candidate
        self.asker = Asker(seconds(settings.timeout) or math.inf)
        self._formula = None if settings.reward_formula is None else Formula(settings.reward_formula)
        self._actions = [Action(each) for each in settings.actions]
        self._actions_text = encode(settings.actions).decode()

    # Decisions

    def question(self, request: DecideRequest) -> Question:
        """Check a request."""
        context = decode_context(request.context)
        brings = bytes(request.actions) != b"null"
        actions = decode_actions(request.actions) if brings else self._actions
        if request.excluded:
            actions = [action for action in actions if action.id not in request.excluded]
        if not actions:
            raise RequestError(
                422,
                "there must be an eligible action: pass actions, or name them in the settings, and do not exclude all",
            )
        if len(actions) > self.limits.max_actions:
            raise RequestError(422, f"there must be at most {self.limits.max_actions:,} actions; got {len(actions):,}")
        if brings and len({action.id for action in actions}) < len(actions):
            raise RequestError(422, "actions must have different ids")
        if request.slots > len(actions):
            raise RequestError(422, f"slots must be at most the number of eligible actions, {len(actions)}")
        if request.slots > 1:
            self._check_stored(request, actions)
        n_features = self._n_features(context) + 1
        n_actions = len(actions)
        if brings:
            n_actions += sum(self._n_features(action.features) for action in actions if action.features)
        if n_features * n_actions > MOST_PAIRS:
            raise RequestError(
                422,
                f"there must be at most {MOST_PAIRS:,} pairs of a feature of the context and a feature of an action; "
                f"got {n_features:,} times {n_actions:,}",
            )
        told = [[action.id, action.features] for action in actions] if brings else None
        digest = digest_of([context, told, request.excluded, request.slots, request.choice])
        return Question(request, context, actions, self.learning.running, digest)

    def _check_stored(self, request: DecideRequest, actions: Sequence[Action]) -> None:
        """Refuse rows of several slots that are large together: each has the whole context and all actions."""
        told = len(self._actions_text) if actions is self._actions else len(bytes(request.actions))
        size = request.slots * (len(bytes(request.context)) + told + PROBABILITY * len(actions))
        if size > self.limits.max_stored:
            raise RequestError(
                422,
                f"{request.slots} slots with this context and these actions would store about {size:,} bytes; at most "
                f"{self.limits.max_stored:,} are allowed (max_stored). Ask for fewer slots or actions.",
            )

    def _n_features(self, value: Any) -> int:
        try:
            return check_features(value, self.limits.max_nesting)
        except FeatureValueError as error:
            raise RequestError(422, f"context and features cannot be used: {error}") from None

    def choose(self, question: Question) -> Choice:
        """Ask the running policy; a fault or a time-out is an answer, too."""
        decider = question.running.decider
        ask = decider.choose if decider.is_bounded else partial(self.asker.ask, decider)
        try:
            return self._checked(*ask(question.context, question.actions))
        except Exception as error:  # whatever a model does wrong, the caller gets the baseline
            return self.fault(error)

    async def choose_soon(self, question: Question) -> Choice:
        """Ask the running policy, in an event loop: what may take long does not hold up others."""
        decider = question.running.decider
        if decider.is_bounded:
            return self.choose(question)
        try:
            return self._checked(*await self.asker.ask_soon(decider, question.context, question.actions))
        except Exception as error:  # whatever a model does wrong, the caller gets the baseline
            return self.fault(error)

    def _checked(self, greedy: int, scores: list[float] | None) -> Choice:
        if scores is not None and not all(map(math.isfinite, scores)):
            raise ValueError("scores must be finite")
        return Choice(greedy, scores)

    def fault(self, error: Exception) -> Choice:
        """Count a fault of the running policy."""
        self.faults += 1
        self.last_fault = str(error) if isinstance(error, TimedOutError) else f"{type(error).__name__}: {error}"
        return Choice(-1, None, fault=True)

    def rows(self, question: Question, choice: Choice, now: float) -> AddDecisions:
        """Draw the action, and make the rows to be stored: one per slot."""
        request, actions = question.request, question.actions
        event_id = request.event_id or made_id(now)
        self.count += 1
        self.rates.add("decisions", now)
        probabilities, exploration = self._vector(question, choice)
        mode, version = self.settings.mode, question.running.version
        context, activated = bytes(request.context).decode(), None if request.defer else now
        due = None if request.defer else now + self.settings.waiting
        rows, greedy = [], choice.greedy
        for slot in range(request.slots):
            slot_id = event_id if slot == 0 else f"{event_id}#{slot + 1}"
            if exploration.by == "caller":
                position = self._callers(question, actions) if slot == 0 else 0
            else:
                position = draw(probabilities, uniform_draw(self.record.secret, slot_id))
            rows.append(
                Decision(
                    loop=self.record.id,
                    event_id=slot_id,
                    time=now,
                    context=context,
                    actions=self._text(actions),
                    probabilities=encode(probabilities).decode(),
                    position=position,
                    action=actions[position].id,
                    probability=probabilities[position],
                    version=version,
                    exploration=encode(exploration).decode(),
                    mode=mode,
                    greedy=greedy,
                    count=self.count,
                    digest=question.digest,
                    customer=request.customer_id,
                    due=due,
                    activated=activated,
                )
            )
            if slot + 1 < request.slots:
                actions, probabilities, greedy, exploration = _next_slot(
                    actions, probabilities, position, greedy, choice.scores, exploration, question.actions
                )
        return AddDecisions(rows)

    def _text(self, actions: Sequence[Action]) -> str:
        if actions is self._actions:
            return self._actions_text
        if any(action.features for action in actions):
            return encode(actions).decode()
        return encode([action.id for action in actions]).decode()

    def _vector(self, question: Question, choice: Choice) -> tuple[list[Any], Exploration]:
        settings, actions, n = self.settings, question.actions, len(question.actions)
        if settings.mode == "apprentice":
            return self._callers_vector(question), Exploration("caller")
        baseline = next((i for i, action in enumerate(actions) if action.id == settings.baseline), -1)
        if choice.fault:
            return [float(i == max(baseline, 0)) for i in range(n)], Exploration("fault")
        kind, rate, gamma = str(settings.exploration), settings.epsilon, 0.0
        if settings.mode == "frozen":
            kind, rate = "none", 0.0
        elif kind == "epoch-greedy":
            rate = max(rate, epoch_rate(self.count))
        elif kind == "squarecb":
            gamma = settings.gamma * math.sqrt(self.learning.learner.n_rows)
        probabilities = vector(kind, n, choice.greedy, rate, choice.scores, gamma)
        return mixed(probabilities, settings.hold_back, baseline), Exploration(
            kind, rate, gamma, settings.hold_back, baseline
        )

    def _callers(self, question: Question, actions: Sequence[Action]) -> int:
        choice = question.request.choice
        if choice is None:
            return 0
        for position, action in enumerate(actions):
            if action.id == choice:
                return position
        raise RequestError(422, f"choice must be one of the eligible actions; got {choice!r:.80}")

    def _callers_vector(self, question: Question) -> list[Any]:
        request, actions = question.request, question.actions
        position = self._callers(question, actions)
        if request.choice_probabilities is not None:
            told = request.choice_probabilities
            probabilities = [told.get(action.id, 0.0) for action in actions]
            if set(told) - {action.id for action in actions} or abs(sum(probabilities) - 1) > 1e-6:
                raise RequestError(422, "choice_probabilities must be of eligible actions, and add up to 1")
            if probabilities[position] < LEAST_PROBABILITY:
                raise RequestError(422, "choice_probabilities must give the choice a probability of at least 1e-6")
            return probabilities
        probability = request.choice_probability or 1.0
        others = 0.0 if probability == 1 else 1 - probability if len(actions) == 2 else None
        return [probability if i == position else others for i in range(len(actions))]

    def answer(self, rows: Sequence[Decision], digest: bytes) -> Answer:
        """Return the answer that stored rows are; an id that was used for another request is refused."""
        first = rows[0]
        if first.digest != digest:
            raise RequestError(
                409, f"event_id {first.event_id!r:.140} was used for another context or other actions. Use a new one."
            )
        ranking = [Slot(row.event_id, row.action, row.probability) for row in rows] if len(rows) > 1 else None
        is_fault = first.exploration.startswith('{"by":"fault"')
        return Answer(first.event_id, first.action, first.probability, first.version, first.mode, ranking, is_fault)

    # Rewards

    def reward(self, event_id: str, request: RewardRequest, now: float) -> AddReward:
        """Return a reward as it is to be kept."""
        check_id(event_id)
        if (request.reward is None) == (request.metrics is None):
            raise RequestError(422, "a reward must be a number, reward, or named numbers, metrics; give one of them")
        value, metrics = request.reward, None
        if request.metrics is not None:
            if self._formula is None:
                raise RequestError(
                    422, "metrics need a reward_formula in the settings of the loop; pass reward instead"
                )
            try:
                value = self._formula(request.metrics)
            except ValueError as error:
                raise RequestError(422, str(error)) from None
            metrics = encode(request.metrics).decode()
        if value is None or not math.isfinite(value):
            raise RequestError(422, f"a reward must be a finite number; got {value}")
        self.rates.add("rewards", now)
        return AddReward(self.record.id, event_id, now, value, metrics, request.reward_id)

    def activation(self, event_id: str, now: float) -> Activate:
        """Return an activation."""
        return Activate(self.record.id, check_id(event_id), now, self.settings.waiting)

    def close(self) -> None:
        """End the threads in which policies are asked."""
        self.asker.close()
        self.learning.close()

    @property
    def counts_decisions(self) -> bool:
        """Whether its explorer counts decisions: epoch-greedy."""
        return self.settings.exploration == "epoch-greedy"

    @property
    def decider(self) -> Decider:
        """What decides now."""
        return self.learning.running.decider


def made_id(now: float) -> str:
    """Return a new event id: the time first, so that ids of one time are neighbours in the store."""
    return f"{int(now * 1000):012x}{_RANDOM.take(10).hex()}"


class _RandomBytes:
    """Bytes of the system, many at a time: each call for them hands over Python's lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes, self._at = b"", 0

    def take(self, n: int) -> bytes:
        with self._lock:
            if self._at + n > len(self._bytes):
                self._bytes, self._at = os.urandom(8192), 0
            self._at += n
            return self._bytes[self._at - n : self._at]


_RANDOM = _RandomBytes()


def _next_slot(
    actions: list[Action],
    probabilities: list[Any],
    taken: int,
    greedy: int,
    scores: list[float] | None,
    exploration: Exploration,
    all_actions: list[Action],
) -> tuple[list[Action], list[Any], int, Exploration]:
    """Return what is left for the next slot: the remaining actions in the same proportions."""
    rest = actions[:taken] + actions[taken + 1 :]
    callers = exploration.by == "caller"
    probabilities = [1.0] + [0.0] * (len(rest) - 1) if callers else without(probabilities, taken)
    if scores is not None:
        by_id = {action.id: score for action, score in zip(all_actions, scores, strict=True)}
        greedy = max(range(len(rest)), key=lambda i: by_id[rest[i].id])
    else:
        greedy = max(range(len(rest)), key=lambda i: probabilities[i])
    place = exploration.baseline
    baseline = -1 if place == taken or place < 0 else place - (place > taken)
    held = exploration.hold_back if place < 0 else 0.0
    return (
        rest,
        probabilities,
        greedy,
        Exploration(exploration.by, exploration.rate, exploration.gamma, held, baseline, exploration.slot + 1),
    )
