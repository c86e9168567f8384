"""Numerical policy: the tolerances that several modules share, and the sizes at which an algorithm changes.

Every constant comes with its reason. A constant that only one function uses, and that is neither a tolerance nor
a size, stays beside that function.
"""

from __future__ import annotations

MEAN_TO_SHIFT = 1e3
"""Ratio of mean and standard deviation above which a sparse column is centered by its values, not within products.

Implicit centering loses the square of this ratio in relative precision: 1e-10 is left at 1e3. A column above it has
at most a zero in 10⁶ rows, so nothing is gained by keeping it sparse.
"""

SMALLEST_SAFE_SQUARE = 1e-290
"""Mean squares below it are computed again on another scale: some of the squares may have underflowed."""

SAME_DISTANCE = 1e-10
"""Squared distances with a smaller relative difference are the same, and the lower index counts as nearer.

Sums over thousands of columns in another order differ by less.
"""

FAINTEST_SIMILARITY = 1e-10
"""Smallest weight of an edge: a sample whose weights all underflowed would drop out of its graph."""

LARGEST_DISTANCE_MATRIX = 1000
"""Number of samples up to which all distances at once, by one product, are faster than a search."""
