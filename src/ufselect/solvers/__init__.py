"""Numerical problems that know neither graphs nor estimators."""
