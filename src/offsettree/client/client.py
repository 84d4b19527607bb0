"""The client: keep-alive connections, time-outs, retries with the same event id, and a fallback of the caller's own."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote, urlsplit

from offsettree.client.decision import Decision, ServiceError, new_event_id
from offsettree.exceptions import ParameterError

__all__ = ["Client"]

RETRIED = (429, 502, 503, 504)
PAUSE = 0.05  # seconds before the first retry, doubled before each further one
NOT_SENT = "not sent"
Action = str | Mapping[str, Any]


class Client:
    """Calls one loop of a service. Threads may share a client: each has a connection of its own.

    Parameters
    ----------
    address : str
        Such as ``"http://127.0.0.1:8000"``.
    loop : str
        The loop's name.
    key : str, optional
        A key of the role decide.
    timeout : float, default=1.0
        Seconds to wait for one answer.
    retries : int, default=2
        How often a call is repeated, with the same event id, if the service is not reached or says 503.
    fallback : str, optional
        The action to take if all that fails. Without it, a `ServiceError` is raised.

    Examples
    --------
    >>> from offsettree.client import Client
    >>> shop = Client("http://127.0.0.1:1", "shop", retries=0, fallback="free-shipping")  # nobody listens there
    >>> decision = shop.decide({"segment": "new"})
    >>> decision.action, decision.is_fallback
    ('free-shipping', True)
    """

    def __init__(
        self,
        address: str,
        loop: str,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        retries: int = 2,
        fallback: str | None = None,
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ParameterError(f"address must be like http://127.0.0.1:8000; got {address!r}.")
        if retries < 0 or timeout <= 0:
            raise ParameterError(f"retries must be at least 0 and timeout above 0; got {retries} and {timeout}.")
        self._parts = parts
        self._root = f"{parts.path.rstrip('/')}/v1/loops/{quote(loop, safe='')}"
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self.timeout, self.retries, self.fallback = timeout, retries, fallback
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: set[http.client.HTTPConnection] = set()

    def decide(
        self,
        context: Mapping[str, Any] | None = None,
        actions: Sequence[Action] | None = None,
        *,
        excluded: Sequence[str] = (),
        event_id: str | None = None,
        defer: bool = False,
        slots: int = 1,
        customer_id: str | None = None,
        choice: str | None = None,
        choice_probability: float | None = None,
    ) -> Decision:
        """Ask for a decision.

        Parameters
        ----------
        context : mapping, optional
            What is known: numbers, words, lists and objects.
        actions : sequence of str or mapping, optional
            The eligible ones: ids, or objects with ``id`` and ``features``. By default those of the loop's settings.
        excluded : sequence of str, default=()
            Actions not to be taken now.
        event_id : str, optional
            By default a new one. A repeated id gets the logged answer.
        defer : bool, default=False
            Whether the decision counts only once it is activated.
        slots : int, default=1
            How many different actions are wanted.
        customer_id : str, optional
            By which events can be deleted later.
        choice, choice_probability : optional
            In apprentice mode: the caller's own choice, and the probability with which it was made.

        Returns
        -------
        Decision
        """
        event_id = event_id or new_event_id()
        body = request_body(context, actions, excluded, event_id, defer, slots, customer_id, choice, choice_probability)
        try:
            return Decision.of(self._call("POST", "/decide", body))
        except ServiceError as error:
            if self.fallback is None or 400 <= error.status < 500:  # a wrong request is no reason to fall back
                raise
            return Decision(event_id, self.fallback, 1.0, 0, is_fallback=True)

    def decide_many(self, contexts: Sequence[Mapping[str, Any]], **options: Any) -> list[Decision | ServiceError]:
        """Ask for many decisions in one call; what is wrong with one is its own answer.

        Parameters
        ----------
        contexts : sequence of mappings
            One per decision.
        **options
            As for `decide`, the same for all.
        """
        requests = [request_body(context, event_id=new_event_id(), **options) for context in contexts]
        answers = self._call("POST", "/decide/batch", {"requests": requests})["answers"]
        return [
            ServiceError(each["error"]["message"], each["error"]["code"]) if "error" in each else Decision.of(each)
            for each in answers
        ]

    def reward(
        self,
        event: Decision | str,
        value: float | None = None,
        *,
        metrics: Mapping[str, float] | None = None,
        reward_id: str | None = None,
    ) -> str:
        """Send a reward, a number or named metrics; return kept, late, unknown or repeated.

        A retry sends the same `reward_id`, so that no reward counts twice. The reward of a local fallback is not sent,
        and "not sent" is returned: the service may have logged another action under that id, to which the reward does
        not belong. So pass the decision; of a bare id, nobody can tell.
        """
        if isinstance(event, Decision) and event.is_fallback:
            return NOT_SENT
        event_id = event.event_id if isinstance(event, Decision) else event
        body = _without_none({"reward": value, "metrics": metrics, "reward_id": reward_id or new_event_id()})
        return str(self._call("POST", f"/events/{quote(event_id, safe='')}/reward", body)["status"])

    def reward_many(self, rewards: Mapping[str, float]) -> dict[str, str]:
        """Send many rewards, by event id, in one call; return what became of each.

        Leave out those of local fallbacks (`Decision.is_fallback`): see `reward`.
        """
        entries = [{"event_id": each, "reward": value, "reward_id": new_event_id()} for each, value in rewards.items()]
        answers = self._call("POST", "/events/reward", {"rewards": entries})["answers"]
        return {
            event_id: answer.get("status") or answer["error"]["message"]
            for event_id, answer in zip(rewards, answers, strict=True)
        }

    def activate(self, event: Decision | str) -> str:
        """Activate a deferred decision; return activated or active, or "not sent" for a local fallback."""
        if isinstance(event, Decision) and event.is_fallback:
            return NOT_SENT
        event_id = event.event_id if isinstance(event, Decision) else event
        return str(self._call("POST", f"/events/{quote(event_id, safe='')}/activate", {})["status"])

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _call(self, method: str, path: str, body: Any) -> Any:
        data = json.dumps(body, allow_nan=False).encode()
        pause, error = PAUSE, ServiceError("the service was not called")
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(pause)
                pause *= 2
            try:
                status, answer = self._send(method, self._root + path, data)
            except (OSError, http.client.HTTPException) as reason:
                self._drop()
                error = ServiceError(f"the service was not reached: {type(reason).__name__}: {reason}")
                continue
            if status < 400:
                return answer
            message = answer.get("error", {}).get("message", "") if isinstance(answer, dict) else ""
            error = ServiceError(f"the service answered {status}: {message or answer}", status)
            if status not in RETRIED:
                break
        raise error

    def _drop(self) -> None:
        """Close this thread's connection: the next call opens a new one."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None
            with self._lock:
                self._connections.discard(connection)

    def _send(self, method: str, path: str, data: bytes) -> tuple[int, Any]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
            self._local.connection = connection
            with self._lock:
                self._connections.add(connection)
        connection.request(method, path, data, self._headers)
        answer = connection.getresponse()
        text = answer.read()
        try:
            return answer.status, json.loads(text) if text else {}
        except ValueError:
            return answer.status, text.decode("utf-8", "replace")[:200]


def request_body(
    context: Mapping[str, Any] | None = None,
    actions: Sequence[Action] | None = None,
    excluded: Sequence[str] = (),
    event_id: str | None = None,
    defer: bool = False,
    slots: int = 1,
    customer_id: str | None = None,
    choice: str | None = None,
    choice_probability: float | None = None,
) -> dict[str, Any]:
    """Return the body of a request; what is not given is left out."""
    optional = {
        "actions": None if actions is None else list(actions),
        "excluded": list(excluded) or None,
        "event_id": event_id,
        "defer": defer or None,
        "slots": slots if slots > 1 else None,
        "customer_id": customer_id,
        "choice": choice,
        "choice_probability": choice_probability,
    }
    return {"context": dict(context or {})} | _without_none(optional)


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
