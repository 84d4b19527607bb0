"""``python -m offsettree``: the command line."""

import sys

from offsettree.cli import main

sys.exit(main())
