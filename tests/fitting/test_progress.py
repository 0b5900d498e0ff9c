import io

import numpy as np
import pytest

from skscreen.fitting.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def use_terminal(monkeypatch):
    """Replace stderr; not a fixture, because pytest's own capture starts after fixtures."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    return terminal


def test_disabled_writes_nothing(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with ProgressBar(enabled=False) as bar:
        bar.update(0.5, "half")
    assert terminal.getvalue() == ""


def test_without_stderr_writes_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with ProgressBar(enabled=True) as bar:
        bar.update(0.5, "half")


def test_terminal_is_redrawn_in_place(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with ProgressBar(enabled=True) as bar:
        bar.update(0.25, "a long message " * 10)
        bar.update(0.5, "short")
    text = terminal.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    _, first, second = text.rstrip("\n").split("\r")
    assert "25% a long" in first
    assert "50% short" in second
    assert second.count("#") == second.count(".") == 12
    # Equal lengths, below the terminal's: nothing wraps and nothing of the first line stays.
    assert len(first) == len(second) == 59


def test_terminal_line_is_closed_after_an_interrupt(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), ProgressBar(enabled=True) as bar:
        bar.update(0.1, "")
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\n")


def test_terminal_stays_clean_without_an_update(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with ProgressBar(enabled=True):
        pass
    assert terminal.getvalue() == ""


def test_log_gets_a_line_every_ten_percent(capsys):
    with ProgressBar(enabled=True) as bar:
        for fraction in np.linspace(0, 1, 1001):
            bar.update(fraction, "λ")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "\r" not in captured.err
    shown = [int(line.split("]")[1].split("%")[0]) for line in captured.err.splitlines()]
    assert shown == list(range(0, 101, 10))


def test_fraction_is_clipped_and_never_falls(capsys):
    with ProgressBar(enabled=True) as bar:
        bar.update(-1.0, "start")
        bar.update(0.5, "half")
        bar.update(0.2, "the end moved away")
        bar.update(7.0, "end")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("] ")[1] for line in lines] == ["  0% start", " 50% half", "100% end"]
