"""``python -m ufselect`` is ``ufselect``."""

from ufselect.cli import main

main()
