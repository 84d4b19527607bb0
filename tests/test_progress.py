from __future__ import annotations

import io

from offsettree._progress import Progress, clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_one_line_that_changes() -> None:
    stream = Terminal()
    progress = Progress(4, stream=stream)
    progress.advance(1, "glass")
    progress.advance(1, "letter")
    progress.close()
    assert "\n" not in stream.getvalue()
    assert " 50 %" in stream.getvalue()
    assert "left  (letter)" in stream.getvalue()


def test_a_file_sees_a_line_now_and_then() -> None:
    stream = io.StringIO()
    progress = Progress(2, stream=stream, interval=1000)
    progress.advance(1, "glass")
    assert stream.getvalue().count("\n") == 1
    assert "(starting)" in stream.getvalue()
    progress = Progress(2, stream=stream, interval=0)
    progress.advance(1, "glass")
    assert stream.getvalue().endswith("(glass)\n")
    progress.close()


def test_times_are_written_as_a_person_would() -> None:
    assert [clock(seconds) for seconds in (5, 65, 3700)] == ["5 s", "1 min 05 s", "1 h 01 min"]
