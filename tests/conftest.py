"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Times on shared machines mean nothing; a build server must not fail by the luck of the draw.
settings.register_profile("offsettree", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("offsettree")
