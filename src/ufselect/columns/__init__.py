"""The data matrix wherever it lives: in memory, dense or sparse, or in the blocks of a Dask array."""
