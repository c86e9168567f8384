"""Graphs of samples, their Laplacians and eigenvectors."""
