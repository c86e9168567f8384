"""Which modules have no doctests here: those that need PyTorch, if it is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/ufselect/gpu/*"]
