"""The commands of the README print what the README shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"^```console\n\$ (.*?)\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def without_times(text):
    """Replace seconds and memory, which differ from run to run, also in the columns of tables."""
    text = re.sub(r"[\d,.]+ s and [\d,]+ MB of memory", "# s and # MB of memory", text)
    lines, end = [], None
    for line in map(str.rstrip, text.rstrip().splitlines()):
        if "seconds" in line.split():
            end = line.index("seconds") + len("seconds")
        elif not line:
            end = None
        elif end is not None and re.search(r" +[\d.]+$", line[:end]):
            line = re.sub(r" +[\d.]+$", " #", line[:end]) + line[end:]
        lines.append(line)
    return lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readme")


def test_the_readme_has_commands():
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize(("command", "printed"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_a_command_of_the_readme_prints_what_stands_there(folder, command, printed):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if command != BLOCKS[0][0] and not (folder / "ufselect-demo").exists():
        subprocess.run(BLOCKS[0][0], shell=True, cwd=folder, env={**os.environ, "PATH": path}, check=True)
    done = subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert without_times(done.stdout) == without_times(printed)
