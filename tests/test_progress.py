from __future__ import annotations

import io
import time

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


def test_a_file_sees_a_line_now_and_then_also_while_nothing_is_counted() -> None:
    stream = io.StringIO()
    with Progress(2, stream=stream, interval=1000) as progress:
        progress.advance(1, "glass")
    assert stream.getvalue() == ""
    with Progress(2, stream=stream, interval=0.01) as progress:
        progress.advance(1, "glass")
        progress.begin("letter")
        end = time.monotonic() + 20
        while "letter" not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    last = stream.getvalue().splitlines()[-1]
    assert last.startswith(" 50 %")
    assert last.endswith("(letter)")


def test_nothing_is_said_after_the_end() -> None:
    stream = io.StringIO()
    Progress(2, stream=stream, interval=0.01).close()
    time.sleep(0.05)
    before = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == before


def test_times_are_written_as_a_person_would() -> None:
    assert [clock(seconds) for seconds in (5, 65, 3700)] == ["5 s", "1 min 05 s", "1 h 01 min"]


def test_the_first_steps_tell_nothing_of_the_time_left() -> None:
    """They compile, and would make hours of seconds."""
    stream = Terminal()
    with Progress(1000, stream=stream) as progress:
        progress.advance(4, "constant, 500 rows")
        assert "under 1 %" in stream.getvalue()
        progress.advance(36, "policy tree, 500 rows")
        assert "  4 %" in stream.getvalue()
        assert "left" not in stream.getvalue()
        assert not any(line.strip().startswith("0 %") for line in stream.getvalue().split("\r"))
        progress.advance(100, "ridge, 500 rows")
        assert "left  (ridge, 500 rows)" in stream.getvalue()
