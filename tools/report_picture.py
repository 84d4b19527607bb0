"""Make docs/pictures/report.png, the picture of the README: the demo's report in a browser (``make pictures``)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "report.png"


def main() -> None:
    """Run the demo, and look at its report."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("this needs chromium (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, ROOT / "examples" / "demo.py", "--out", "demo", "--time-budget", "300"],
            cwd=folder,
            check=True,
        )
        report = Path(folder, "demo", "report.html").as_uri()
        window = ["--window-size=1100,900", "--hide-scrollbars", f"--user-data-dir={folder}/profile"]
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", *window, f"--screenshot={PICTURE}", report]
        subprocess.run(command, check=True, capture_output=True)
    print(f"made {PICTURE.name}")


if __name__ == "__main__":
    main()
