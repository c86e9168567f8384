"""Leaf modules that every layer may use: progress, wording, memory, threads, atomic files, numerical policy."""
