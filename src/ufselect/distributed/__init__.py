"""FSASL if X is a Dask array: blocks of its rows stay on the workers, everything else is in memory."""
