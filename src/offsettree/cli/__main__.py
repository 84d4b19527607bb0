"""``python -m offsettree.cli``."""

import sys

from offsettree.cli import main

sys.exit(main())
