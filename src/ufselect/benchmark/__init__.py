"""Selections judged: experiments in files, runs that survive, tables beside the published ones."""
