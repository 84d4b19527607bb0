"""Folders that commands write to."""

from __future__ import annotations

from pathlib import Path

from offsettree.exceptions import ParameterError

__all__ = ["make_folder"]


def make_folder(path: Path) -> None:
    """Create the folder that --out names, unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ParameterError(
            f"--out must be a folder, existing or new; {path} is a file or inside a file. Give another path."
        ) from error
