"""Numerical policy: the tolerances that several modules share, and the sizes at which an algorithm changes."""

from __future__ import annotations

# Sizes at which an algorithm changes

LARGEST_DENSE_SPECTRUM = 500
"""Order up to which all eigenvectors of a dense matrix take less time than a few by iteration."""

LARGEST_EXACT_SEARCH = 200_000
"""Number of samples up to which "auto" searches for exact neighbours; the time grows with its square."""

SMALLEST_SINGLE_PRECISION_SPECTRUM = 5000
"""Order from which eigenvectors with a residual of 1e-4 or more are iterated in single precision: half the memory."""

LARGEST_CROWDED_SPECTRUM = 1500
"""Order up to which a spectrum with many small eigenvalues is decomposed densely, within about a second."""

LARGEST_EXACT_KERNEL = 3000
"""Number of samples up to which a kernel is formed for all pairs (72 MB, a few seconds); above, from landmarks."""

N_LANDMARKS = 1000
"""Number of samples from which a larger kernel is approximated: their decomposition takes about a second."""

LARGEST_DENSE_SYSTEM = 5000
"""Order up to which a dense matrix of all pairs of samples, or of features, is formed (200 MB) and factorised."""

MOST_CLUSTERS_TO_FIND = 50
"""Largest number of clusters that "auto" considers: more eigenvectors would take more time than the rest of a fit."""

FEWEST_CLUSTERS_TO_FIND = 5
"""Smallest number of clusters that "auto" considers, if there are enough samples.

The widest gap often lies after two or three, whatever the number of groups. Too many directions cost little, but groups
that share a direction cannot be told apart (docs/methods.md has the figures).
"""

NEIGHBORS_TO_COUNT_CLUSTERS = 10
"""Number of neighbours in the graph whose eigengap "auto" reads, unless given; fewer make gaps by chance."""

LARGEST_TIED_GRAPH = 4_000_000
"""Number of edges that samples tied at the smallest distance may add to a neighbour graph: 64 MB, all ties of 2000."""

# Range of the data

LARGEST_VALUE = 1e140
"""Largest magnitude of a value: sums of squares of larger ones could overflow float64."""

SMALLEST_SAFE_SQUARE = 1e-290
"""Mean squares below it are computed again on another scale: some of the squares may have underflowed."""

MEAN_TO_SHIFT = 1e3
"""Ratio of mean and standard deviation above which a sparse column is centred by its values, not within products.

Implicit centring loses the square of this ratio in relative precision: 1e-10 is left at 1e3. A column above it has
at most one zero in 10⁶ rows, so nothing is gained by keeping it sparse.
"""

OCTAVES_OF_ONE_UNIT = 1.0
"""Standard deviation of log₂ of the amplitudes √(Σx⁴/Σx²) of columns up to which they are taken to share a unit.

Amplitudes do not depend on how rare an event is: those of pixels, log counts, words, genotypes and answers differ by a
third to half an octave, those of tables of unlike units by two to six. 0.8 to 2 scored alike on 41 sets
(benchmarks/README.md, Scales of columns).
"""

ROUNDING_OF_DOUBLES = 10.0
"""Standard deviation of a column, in units of eps times its largest magnitude, up to which it may be rounding."""

ROUNDING_OF_SINGLES = 2.0
"""The same in single precision or less, where measurements do reach the last digits: Unix seconds are 128 apart.

At this ratio, rounding makes at most a tenth of the standard deviation.
"""

# Tolerances

SAME_DISTANCE = 1e-10
"""Squared distances with a smaller relative difference, as of sums in another order, are the same."""

ROUNDINGS_OF_POINTS = 4
"""Error of a distance between xᵢ and xⱼ that comes from rounding of the points, in units of ε(‖xᵢ‖ + ‖xⱼ‖).

Centring and scaling round twice; small distances, between samples that are all but equal, consist of such errors.
"""

SAME_EIGENVALUE = 1e-8
"""Eigenvalues of a normalised Laplacian with a smaller difference are the same: eigensolvers err by less."""

CROWDED_TOLERANCE = 1e-4
"""Residual of eigenvectors of a large crowded spectrum, relative to the largest eigenvalue; less takes very long."""

FAINTEST_SIMILARITY = 1e-10
"""Smallest weight of an edge: a sample whose weights all underflowed would drop out of its graph."""
