"""Choose the informative columns of unlabelled data."""

from ufselect.selectors.cgssl import CGSSL
from ufselect.selectors.evsc import EVSC
from ufselect.selectors.fsasl import FSASL
from ufselect.selectors.fssl import FSSL
from ufselect.selectors.glspfs import GLSPFS
from ufselect.selectors.jelsr import JELSR
from ufselect.selectors.laplacian_score import LaplacianScore
from ufselect.selectors.llcfs import LLCFS
from ufselect.selectors.max_variance import MaxVariance
from ufselect.selectors.mcfs import MCFS
from ufselect.selectors.mrsf import MRSF
from ufselect.selectors.ndfs import NDFS
from ufselect.selectors.rufs import RUFS
from ufselect.selectors.spec import SPEC
from ufselect.selectors.spfs import SPFS
from ufselect.selectors.trace_ratio import TraceRatio
from ufselect.selectors.udfs import UDFS

__version__ = "0.1.0"

__all__ = [
    "CGSSL",
    "EVSC",
    "FSASL",
    "FSSL",
    "GLSPFS",
    "JELSR",
    "LLCFS",
    "MCFS",
    "MRSF",
    "NDFS",
    "RUFS",
    "SPEC",
    "SPFS",
    "UDFS",
    "LaplacianScore",
    "MaxVariance",
    "TraceRatio",
]
