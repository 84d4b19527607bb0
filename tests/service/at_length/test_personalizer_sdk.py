"""Personalizer's own Python SDK, pointed at our server: rank, activate, reward."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.service.servers import Server, call

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_sdk_ranks_activates_and_rewards(tmp_path: Path) -> None:
    personalizer = pytest.importorskip("azure.cognitiveservices.personalizer", reason="the SDK is not installed")
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest
    from msrest.authentication import CognitiveServicesCredentials

    with Server("--demo", "--no-visitors", folder=tmp_path) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = personalizer.PersonalizerClient(
            f"http://127.0.0.1:{server.port}", CognitiveServicesCredentials("any-key")
        )
        client.config.connection.verify = False
        actions = [RankableAction(id=name, features=[{"taste": name}]) for name in ("pasta", "salad", "soup")]
        request = RankRequest(
            actions=actions,
            context_features=[{"time": "morning"}, {"user": {"age": 33}}],
            excluded_actions=["soup"],
            event_id="lunch",
            defer_activation=True,
        )
        ranked = client.rank(request)
        assert ranked.event_id == "lunch"
        assert ranked.reward_action_id in ("pasta", "salad")
        assert ranked.ranking[0].id == ranked.reward_action_id
        assert sum(each.probability for each in ranked.ranking) == pytest.approx(1)
        client.events.activate("lunch")
        client.events.reward("lunch", value=1.0)
        row = call(server.port, "GET", "/v1/loops/personalizer/events/lunch")[1]
        assert row["activated"] is not None
        assert [each["value"] for each in row["rewards"]] == [1.0]
