"""The application: routes of all operations, the page, and the work that goes on beside requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from offsettree.service.admin import Admin
from offsettree.service.api import Api, Operation
from offsettree.service.engine import Engine
from offsettree.service.http import Application, DirectHandler, Gate, Receive, Reply, Request, Scope, Send
from offsettree.service.keys import Keys
from offsettree.service.metrics import Metrics
from offsettree.service.openapi import document
from offsettree.service.page import Pages
from offsettree.service.personalizer import Personalizer
from offsettree.service.requests import RequestError, encode
from offsettree.service.training import Trainer

__all__ = ["make_app", "operations_of"]

STEP = 0.25  # seconds between two looks for rows that have matured
FORGET = 600.0
MANY = 200  # rows at once: there may be more
DIRECT = ("/v1/loops/{loop}/decide", "/v1/loops/{loop}/decide/batch", "/v1/loops/{loop}/events/reward")
log = logging.getLogger("offsettree.service")


def operations_of(engine: Engine, trainer: Trainer, metrics: Metrics) -> list[Operation]:
    """Return all operations: the table behind the routes and the document."""
    operations = Api(engine).operations() + Admin(engine, trainer).operations()
    for method, path, summary, handler, takes in Personalizer(engine).operations():
        kind = "application/json" if "rank" in path else "none"
        operations.append(Operation(method, path, "decide", summary, handler, takes, kind=kind))

    async def live(request: Request) -> Reply:
        return Reply(encode({"status": "alive"}))

    async def ready(request: Request) -> Reply:
        error = engine.writer.last_error
        facts = {
            "status": "ready" if error is None else "not ready",
            "store": engine.store.description(),
            "error": error,
        }
        return Reply(encode(facts), 200 if error is None else 503)

    async def show_metrics(request: Request) -> Reply:
        text = await asyncio.to_thread(metrics.text)
        return Reply(text, kind=b"text/plain; version=0.0.4; charset=utf-8")

    operations += [
        Operation("GET", "/health/live", None, "Whether the process answers", live),
        Operation("GET", "/health/ready", None, "Whether decisions can be kept", ready),
        Operation("GET", "/metrics", "admin", "Figures for Prometheus", show_metrics, kind="text/plain"),
    ]
    return operations


class Service(Starlette):
    """The application: paths that are called most go straight to their handlers, all others by way of Starlette.

    Starlette looks for a route by one regular expression after another, and puts three layers around it. That is more
    work than a decision itself.

    `direct` has handlers by the whole path, for POST, with the parameters of the path; `at_once` those of whole
    requests, for a server that can call them without ASGI.
    """

    def __init__(
        self,
        direct: Mapping[str, tuple[Application, dict[str, str]]],
        at_once: Mapping[bytes, DirectHandler],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._direct = dict(direct)
        self.at_once = dict(at_once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = self._direct.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await super().__call__(scope, receive, send)
        else:
            scope["path_params"] = found[1]
            await found[0](scope, receive, send)


def make_app(engine: Engine, keys: Keys, *, beside: Callable[[], Any] | None = None, learns: bool = True) -> Service:
    """Return the ASGI application.

    `beside` returns a coroutine that runs beside the requests, such as simulated visitors. If it `learns`, rows that
    mature are learned from in the background.
    """
    gate, metrics, trainer = Gate(engine.settings.server, keys), Metrics(engine), Trainer(engine)
    gate.observe = metrics.observe
    operations = operations_of(engine, trainer, metrics)
    described = encode(document(operations))

    async def show_document(request: Request) -> Reply:
        return Reply(described)

    async def nowhere(request: Request) -> Reply:
        raise RequestError(404, "there is nothing here; /openapi.json says what there is")

    routes: list[Route] = []
    direct: dict[str, tuple[Application, dict[str, str]]] = {}
    for each in operations:
        guarded = gate.guard(each.handler, each.role, each.path)
        routes.append(Route(each.path, guarded, methods=[each.method]))
        if each.path in DIRECT and each.method == "POST":
            direct |= {each.path.replace("{loop}", name): (guarded, {"loop": name}) for name in engine.loops}
    routes.append(Route("/openapi.json", gate.guard(show_document, None, "/openapi.json"), methods=["GET"]))
    for method, path, role, handler in Pages(engine).routes():
        routes.append(Route(path, gate.guard(handler, role, path), methods=[method]))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_learn(engine, trainer))] if learns else []
        if beside is not None:
            tasks.append(asyncio.create_task(beside()))
        log.info("started", extra={"loops": sorted(engine.loops), "store": engine.store.description()})
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(trainer.stop)
            await asyncio.to_thread(engine.close)
            log.info("stopped")

    middleware = [_cors(engine.settings.server.allow_origins)] if engine.settings.server.allow_origins else []
    for layer in middleware:
        direct = {path: (layer.cls(app, *layer.args, **layer.kwargs), names) for path, (app, names) in direct.items()}
    api = Api(engine)
    at_once = {
        f"/v1/loops/{name}/decide".encode(): gate.guard_direct(api.decide_at_once(name), "decide", DIRECT[0])
        for name in engine.loops
    }
    app = Service(direct, at_once, routes=routes, lifespan=lifespan, middleware=middleware)
    app.router.default = gate.guard(nowhere, None, "nowhere")
    app.router.redirect_slashes = False
    return app


def _cors(origins: Sequence[str]) -> Middleware:
    return Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=["POST"], allow_headers=["*"])


async def _learn(engine: Engine, trainer: Trainer) -> None:
    """Learn from rows as they mature, and delete old ones; a fault is logged and tried again."""
    forgotten = engine.clock()
    while True:
        try:
            done = await engine.step_soon()
            await asyncio.to_thread(trainer.step)
            if engine.clock() - forgotten > FORGET:
                forgotten = engine.clock()
                await asyncio.to_thread(engine.forget)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("learning failed; it is tried again")
            done = 0
            await asyncio.sleep(1.0)
        await asyncio.sleep(STEP if done < MANY else 0)
