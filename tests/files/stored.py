"""What tests of files share: a selection of everything, and numbers of any form as an array."""

import numpy as np
import scipy.sparse as sp

from ufselect.files import Selection

COUNTS = np.array([[1.0, 0.0, 3.0], [0.0, 5.0, 0.0], [7.0, 0.0, 9.0], [0.0, 2.0, 0.0]])
SELECTION = Selection(np.array([0.5, 0.1, 0.9]), np.array([2, 3, 1]), 2)


def everything(table):
    """A selection of all columns, in their order."""
    d = table.shape[1]
    return Selection(np.ones(d), np.arange(1, d + 1), d)


def as_dense(X):
    return X.toarray() if sp.issparse(X) else X
