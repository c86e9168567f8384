"""The commands of the README print what the README shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

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


def test_the_readme_has_commands():
    assert len(BLOCKS) >= 3


def test_the_commands_of_the_readme_print_what_stands_there(tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    options = {"shell": True, "cwd": tmp_path, "env": {**os.environ, "PATH": path}, "timeout": 300}
    for command, printed in BLOCKS:  # in this order, as the first writes the data of the others
        done = subprocess.run(command, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stderr
        assert without_times(done.stdout) == without_times(printed), command
