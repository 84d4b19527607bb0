"""A typed client of the decision service, by the standard library alone."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.client.async_client import AsyncClient
    from offsettree.client.client import Client
    from offsettree.client.decision import Decision, ServiceError
    from offsettree.client.in_process import InProcessClient

__all__ = ["AsyncClient", "Client", "Decision", "InProcessClient", "ServiceError"]

__getattr__ = names_on_demand(
    __name__,
    {
        "async_client": ("AsyncClient",),
        "client": ("Client",),
        "decision": ("Decision", "ServiceError"),
        "in_process": ("InProcessClient",),
    },
)
