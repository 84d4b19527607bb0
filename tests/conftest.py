"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Before NumPy is imported: one worker per core, whose matrix products would else wait for each other's threads.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Times on shared machines mean nothing; a build server must not fail by the luck of the draw.
settings.register_profile("offsettree", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("offsettree")
