"""The published methods, one per module."""
