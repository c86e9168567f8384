"""Interrupted at any time, the program says so in one sentence and leaves no incomplete file."""

import gzip
import os
import pty
import re
import shlex
import signal
import subprocess
import termios
from pathlib import Path

import numpy as np
import pytest
from command_line import SCRIPT, contents, invoke, is_one_sentence, read_back, started_at_once, write_source
from warm_python import warm_python

STOPPED = "Error: Interrupted; nothing was written."


def read_until(wanted, reading):
    """Read from the terminal until those words appear, or until it is closed."""
    shown = ""
    while wanted is None or wanted not in shown:
        try:
            part = os.read(reading, 4096)
        except OSError:  # nobody writes to it any more
            break
        if not part:
            break
        shown += part.decode("utf-8", "replace")
    return shown


def check_stopped(folder, shows, how, *arguments, program=None):
    """Stopped by a signal once its terminal shows those words, the program says so and changes no file."""
    before = contents(folder)
    reading, writing = pty.openpty()
    termios.tcsetwinsize(writing, (24, 100))
    command = [*(program or started_at_once()), "select", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=writing, text=True, start_new_session=True
    ) as process:
        os.close(writing)
        try:
            shown = read_until(shows, reading)
            assert shows in shown
            process.send_signal(how)
            shown += read_until(None, reading)
            output, _ = process.communicate(timeout=300)
        finally:
            process.kill()
            os.close(reading)
    assert (process.returncode, output) == (1, "")
    assert shown.rstrip().splitlines()[-1].endswith(STOPPED)
    assert "Traceback" not in shown
    assert contents(folder) == before


@pytest.mark.parametrize(("how", "program"), [(signal.SIGINT, SCRIPT), (signal.SIGTERM, None)])
def test_stopped_while_it_fits(tmp_path, how, program):
    # Several seconds of work.
    np.save(tmp_path / "much.npy", np.random.default_rng(0).standard_normal((8000, 100)))
    (tmp_path / "out.csv").write_text("old")
    arguments = ["much.npy", "-m", "5", "-o", "out.csv", "--report", "page.html"]
    # After a second the clock shows, on a busy machine later.
    check_stopped(tmp_path, "KernelFSASL 0", how, *arguments, program=program)


def test_stopped_while_it_reads(tmp_path):
    line = ",".join(f"0.{digit}234567" for digit in range(1, 9)) + "\n"
    rows = gzip.compress(line.encode() * 60_000)
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(b"a,b,c,d,e,f,g,h\n") + rows * 120)  # 600 MB unpacked
    arguments = ["long.csv.gz", "--method", "MaxVariance", "-o", "out.csv"]
    check_stopped(tmp_path, "Reading long.csv.gz:", signal.SIGINT, *arguments)


INTERRUPTED_IN_A_FINALIZER = """
import os, signal, sys
from pathlib import Path
from ufselect.cli.output import raise_on_signals, write_all

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

raise_on_signals()
sys.unraisablehook = lambda unraisable: print("discarded")
Finalized()
try:
    write_all({}, {Path("page.html"): "page"})
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("hook", "said"), [("sys.unraisablehook", "discarded\ninterrupted\n"), ("_", "interrupted\n")])
def test_an_interruption_that_python_discards_still_prevents_writing_and_prints_no_traceback(tmp_path, hook, said):
    program = INTERRUPTED_IN_A_FINALIZER.replace("sys.unraisablehook =", f"{hook} =")
    command = [*warm_python(), "-c", program]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    assert (answer.stdout, answer.stderr) == (said, "")
    assert list(tmp_path.iterdir()) == []


# Stopped while it writes


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "cells.csv")
    (tmp_path / "out.csv").write_text("old")
    (tmp_path / "page.html").write_text("old page")
    return tmp_path


COMMAND = ["select", "cells.csv", "-m", "5", "--method", "MaxVariance", "-o", "out.csv", "--report", "page.html"]


def check_nothing_written(cells):
    """The command fails in one sentence, which is returned, and changes no file."""
    before = contents(cells)
    outcome = invoke(*COMMAND)
    assert outcome.code == 1
    assert contents(cells) == before
    return re.sub(r"\rStability: .*\n", "", outcome.stderr).strip()  # in this process, progress bars have no delay


def test_stopped_while_it_writes_the_table(cells, monkeypatch):
    def write_half(path, table, selection):
        Path(path).write_text("half a ta")
        assert len(contents(cells)) == 4  # beside the old file, not in its place
        raise KeyboardInterrupt

    monkeypatch.setattr("ufselect.files.write_table", write_half)
    assert check_nothing_written(cells) == STOPPED


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("nothing to show."), MemoryError])
def test_where_the_page_does_not_come_about_the_table_stays_as_it_was(cells, monkeypatch, error):
    def fail(study):
        raise error

    monkeypatch.setattr("ufselect.report.render_page", fail)
    assert is_one_sentence(check_nothing_written(cells))


def test_stopped_while_it_writes_the_page_neither_file_is_new(cells, monkeypatch):
    write = Path.write_text

    def write_half(path, text, **options):
        write(path, text[: len(text) // 2], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", write_half)
    assert check_nothing_written(cells) == STOPPED


@pytest.mark.skipif(os.name != "posix", reason="a full pipe stops a program on POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopped_after_the_file_is_written_it_says_so(tmp_path, how):
    names = np.array([f"{column:0200d}" for column in range(2000)])  # more than a pipe holds: printing has to wait
    np.savez(tmp_path / "wide.npz", X=np.random.default_rng(0).standard_normal((20, 2000)), names=names)
    arguments = ["select", "wide.npz", "--method", "MaxVariance", "-m", "2000", "--names", "-o", "out.npz"]
    with subprocess.Popen(
        [*started_at_once(), *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert len(process.stdout.read(200)) == 200  # files are written before anything is printed
        process.send_signal(how)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == "Error: Interrupted after writing out.npz."
    assert len(read_back(tmp_path / "out.npz").names) == 2000


@pytest.mark.skipif(os.name != "posix", reason="pipes of this kind are POSIX")
def test_a_reader_that_goes_away_is_no_error_of_the_program(tmp_path):
    write_source(tmp_path, "cells.csv")
    command = f"{shlex.join(started_at_once())} select cells.csv --method MaxVariance | head -c 1"
    answer = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (answer.stdout, answer.stderr) == ("4", "")  # of "4 of 12 columns share structure …"
