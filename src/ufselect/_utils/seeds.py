"""One seed from whatever scikit-learn accepts as ``random_state``."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seed_of(random_state: Any) -> int:
    """Return an integer as it is; otherwise draw one, from a generator or, for None, from NumPy's global one.

    Raises
    ------
    ValueError
        If scikit-learn would refuse it.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect._utils.seeds import seed_of
    >>> seed_of(3), seed_of(np.random.RandomState(0))
    (3, 209652396)
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32 - 1))
    rng = check_random_state(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(rng.randint(2**31 - 1))
