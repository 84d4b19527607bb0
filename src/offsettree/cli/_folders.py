"""Folders that commands write to."""

from __future__ import annotations

from pathlib import Path

from offsettree.exceptions import ParameterError

__all__ = ["make_folder"]


def make_folder(path: Path) -> None:
    """Make the folder that --out names, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ParameterError(
            f"--out must name a folder, there or to be made; {path} is a file, or within one. Name another."
        ) from error
