"""Tables of counts are recognised, and nothing else is taken for one."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from ufselect.files import Table, looks_like_counts, recognition

RNG = np.random.default_rng(0)
FORMS = [np.array, sp.csr_matrix, sp.csc_matrix]
IMAGES = ["AR", "COIL", "JAFFE", "MFEA", "UMIST", "USPS49"]
OTHERS = [
    *IMAGES,
    "TOX",
    *(f"many/{name}" for name in ["chem_dud_morgan", "gene_cattle", "image_semeion", "med_dermatology"]),
    *(f"more/{name}" for name in ["expr_tissues", "hsi_salinas_a", "image_mfeat_all", "sensor_watch_tsfel"]),
]
COUNTED = [
    *(f"more/{name}" for name in ["sc_baron_h1", "sc_mix_celseq2_5cl", "sc_pbmc3k", "text_20news6"]),
    *(f"many/{name}" for name in ["micro_mouse_diet", "sc_pbmc_facs", "text_languages", "text_reuters_rest"]),
]


def table_of(X):
    X = X.astype(np.float64) if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
    return Table(X, tuple(f"x{j}" for j in range(X.shape[1])), {}, {}, None, Path("x.csv"))


def benchmark_table(name):
    path = Path(os.environ.get("UFSELECT_DATA", ""), f"{name}.npz")
    if not path.is_file():
        pytest.skip(f"{path.name} is not in UFSELECT_DATA")
    with np.load(path) as stored:
        if "X" in stored:
            return table_of(stored["X"])
        return table_of(sp.csr_matrix((stored["data"], stored["indices"], stored["indptr"]), shape=stored["shape"]))


def cells(n=80, d=300):
    """Negative binomial counts of cells of different sizes."""
    rng = np.random.default_rng(0)
    mean = rng.lognormal(-1.0, 1.5, d) * rng.lognormal(0.0, 0.5, (n, 1))
    return rng.poisson(rng.gamma(2.0, mean / 2.0))


def documents(n=200, d=400):
    """Words of documents of different lengths, with frequencies that fall as 1/rank."""
    rng = np.random.default_rng(1)
    frequencies = 1.0 / np.arange(1, d + 1)
    lengths = rng.geometric(1 / 80, n)
    return np.array([rng.multinomial(length, frequencies / frequencies.sum()) for length in lengths])


def tissues(n=30, d=2000, rarest=0.0):
    """Reads of genes in tissues: few zeros, and rates that span orders of magnitude."""
    rng = np.random.default_rng(2)
    rates = rng.lognormal(4.0, 2.5, d)
    reads = rng.poisson(rates * rng.lognormal(0.0, 0.3, (n, 1)) * rng.lognormal(0.0, 0.4, (n, d)))
    return reads[:, reads.mean(axis=0) > rarest]


def indicators(n=100):
    """Categories as columns of zeros and ones, beside an age and a price."""
    rng = np.random.default_rng(3)
    categories = np.hstack([np.eye(9)[rng.integers(0, 9, n)] for _ in range(12)])
    return np.hstack([categories, rng.integers(18, 90, (n, 1)), rng.integers(0, 10_000, (n, 1))])


def household(n=300):
    """A few whole numbers in several units, many of them zero or one."""
    rng = np.random.default_rng(4)
    few = rng.poisson([0.3, 0.5, 0.2, 0.6], (n, 4))
    return np.hstack([few, rng.integers(0, 2, (n, 2)), rng.integers(1, 80, (n, 1))])


def ratings(n=200, d=100):
    """One to five stars, zero for what is not rated."""
    rng = np.random.default_rng(5)
    return rng.choice([0, 1, 2, 3, 4, 5], (n, d), p=[0.9, 0.006, 0.011, 0.027, 0.034, 0.022])


def answers(n=200):
    """A questionnaire from "never" (0) to "always" (4), mostly "never", beside an age."""
    rng = np.random.default_rng(6)
    return np.hstack([rng.choice(5, (n, 40), p=[0.5, 0.25, 0.15, 0.07, 0.03]), rng.integers(18, 90, (n, 1))])


def survey(n=200):
    """Hundreds of answers from 1 to 5, beside a year, an income and an id."""
    rng = np.random.default_rng(7)
    others = [rng.integers(1940, 2010, (n, 1)), rng.integers(0, 200_000, (n, 1)), rng.permutation(100 * n)[:n, None]]
    return np.hstack([rng.integers(1, 6, (n, 250)), *others])


def strokes(n=100):
    """Bright strokes on black, of lengths that differ as much as the sums of cells."""
    rng = np.random.default_rng(8)
    drawn = rng.random((n, 784)) < rng.uniform(0.02, 0.3, (n, 1))
    return np.where(drawn, np.minimum(255, rng.gamma(6.0, 30.0, (n, 784))).astype(int), 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", [cells, documents, tissues, lambda: tissues(rarest=10.0)])
def test_counts_are_recognized(make, form):
    assert looks_like_counts(table_of(form(make())))


NOT_COUNTS = {
    "digits": load_digits().data,
    "black and white": load_digits().data > 8,
    "wine": load_wine().data,
    "cancer": load_breast_cancer().data,
    "indicators": indicators(),
    "household": household(),
    "ratings": ratings(),
    "answers": answers(),
    "survey": survey(),
    "strokes": strokes(),
    "genotypes": RNG.binomial(2, RNG.beta(1, 3, 500), (100, 500)),
    "ranks": np.argsort(RNG.random((50, 200)), axis=0),
    "hashes": RNG.integers(0, 2**40, (50, 200)),
    "zeros": np.zeros((20, 30)),
    "ones": np.ones((20, 30)),
    "noise": RNG.normal(size=(40, 30)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NOT_COUNTS)
def test_other_tables_are_not_counts(name, form):
    assert not looks_like_counts(table_of(form(NOT_COUNTS[name])))


@pytest.mark.parametrize("n", [60, 150, 300])
def test_few_genes_that_are_alike_by_chance_do_not_make_counts_an_image(n):
    recognized = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rates = np.exp(rng.standard_normal((3, 40)) - 1.0)[rng.integers(0, 3, n)]
        recognized += looks_like_counts(table_of(rng.poisson(rates * rng.gamma(2.0, 1.0, (n, 1))).astype(float)))
    assert recognized >= 98


def sizes(rng):
    """Numbers of samples and columns."""
    return int(rng.choice([60, 150, 400])), int(rng.choice([24, 60, 150]))


def incomes(rng, n, d):
    """Incomes, also rounded to hundreds or thousands."""
    return np.round(rng.lognormal(10.0, rng.uniform(0.3, 1.0), (n, d)), int(rng.choice([0, -2, -3])))


def ages(rng, n, d):
    """Years of life."""
    return np.clip(rng.normal(45.0, 15.0, (n, d)), 1, 95).round()


def mixed(rng):
    """Ratings, mostly not given, ages and incomes."""
    n, d = sizes(rng)
    few = max(1, d // 10)
    rated = rng.random((n, d)) < rng.uniform(0.2, 0.8)
    ratings = np.where(rated, rng.integers(1, int(rng.choice([6, 11])), (n, d)), 0)
    return np.hstack([ratings, ages(rng, n, few), incomes(rng, n, few)])


def image(rng, bits):
    """Blurred spots on a dark ground, exposed more or less, with the noise of a camera."""
    n, side = int(rng.choice([60, 200])), int(rng.choice([12, 20]))
    spots = gaussian_filter(rng.random((n, side, side)) ** 8, (0, 1.5, 1.5))
    light = gaussian_filter(rng.random((side, side)), 3.0) ** int(rng.integers(1, 6))
    bright = (spots * light / (spots * light).max()) ** rng.uniform(1.0, 5.0)
    exposed = (2**bits - 1) * bright * rng.lognormal(0.0, 0.5, (n, 1, 1))
    noisy = rng.normal(exposed, np.sqrt(exposed) + 2.0)
    return np.clip(noisy, 0, 2**bits - 1).round().reshape(n, -1)


def flags_and_visits(rng):
    """Diagnoses, yes or no, beside numbers of visits: both more frequent for those who are sick."""
    n, d = sizes(rng)
    n_flags = int(rng.integers(d // 2, d))
    sick = rng.gamma(2.0, 0.5, (n, 1))
    flags = rng.random((n, n_flags)) < np.clip(rng.uniform(0.05, 0.5, n_flags) * sick ** rng.integers(0, 2), 0, 1)
    visits = rng.poisson(rng.lognormal(0.5, 0.7, d - n_flags) * sick)
    return np.hstack([flags, visits])


KINDS = {
    "ratings, ages and incomes": mixed,
    "12-bit images": lambda rng: image(rng, 12),
    "16-bit images": lambda rng: image(rng, 16),
    "uniform 12-bit pixels": lambda rng: rng.integers(0, 4096, (100, 256)),
    "dark 16-bit pixels": lambda rng: np.minimum(65535, rng.gamma(0.3, 8000, (100, 256))).round(),
    "flags and visits": flags_and_visits,
    "ages": lambda rng: ages(rng, *sizes(rng)),
    "incomes": lambda rng: incomes(rng, *sizes(rng)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_other_kinds_are_not_counts(kind):
    tables = (KINDS[kind](np.random.default_rng(seed)) for seed in range(20))
    assert [seed for seed, X in enumerate(tables) if looks_like_counts(table_of(np.asarray(X)))] == []


@pytest.mark.parametrize("name", COUNTED)
def test_counts_of_cells_and_words_are_recognized(name):
    assert looks_like_counts(benchmark_table(name))


@pytest.mark.parametrize("name", OTHERS)
def test_images_spectra_sensors_and_grades_are_not_counts(name):
    assert not looks_like_counts(benchmark_table(name))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [-1.0, 0.5, 1e-9])
def test_one_value_that_is_no_count_is_enough(form, value, monkeypatch):
    X = cells().astype(np.float64)
    X[51, 7] = value
    assert not looks_like_counts(table_of(form(X)))
    monkeypatch.setattr(recognition, "_MOST_VALUES", X.size // 4)  # of the rows sampled it is not in one
    assert not looks_like_counts(table_of(form(X)))
