"""``--require better``: an exit code that tells a script whether the policy may be used."""

from __future__ import annotations

import argparse
import sys
from typing import Any

NOT_MET = 3


def add_require_option(group: Any) -> None:
    """Add --require to a group of options."""
    group.add_argument(
        "--require",
        choices=["better"],
        help="exit with code 3 unless the policy is shown to be better than the logged decisions and than the best "
        "constant action: both intervals wholly above zero, and no serious warning",
    )


def exit_code(options: argparse.Namespace, *, is_better: bool) -> int:
    """Return 0; or print why and return 3 if the requirement is not met."""
    if options.require is None or is_better:
        return 0
    sys.stderr.write(
        "offsettree: --require better is not met: the policy is not shown to be better than the logged decisions and "
        "than the best constant action.\n"
    )
    return NOT_MET
