"""The registry of datasets."""

import dataclasses

import pytest

from ufselect.datasets import Dataset, content_digest, dataset_names, default_feature_counts, describe_dataset
from ufselect.datasets.content import dataset_from
from ufselect.datasets.registry import PublicSet


# The paper's table: samples, features, classes, and selected from, to, in steps of.
@pytest.mark.parametrize("name", dataset_names())
def test_facts_are_complete_and_in_order(name):
    public = describe_dataset(name)
    assert public.name == name
    assert public.description
    assert public.source
    assert public.feature_counts == tuple(sorted(set(public.feature_counts)))
    assert 1 <= public.feature_counts[0] <= public.feature_counts[-1] <= public.n_features
    assert hash(public) == hash(dataclasses.replace(public))


@pytest.mark.parametrize(("name", "meant"), [("tox", "TOX"), ("COIL20", "COIL"), ("breast-cancer", "breast_cancer")])
def test_an_unknown_name_suggests_a_known_one(name, meant):
    with pytest.raises(ValueError, match=f"no dataset named '{name}' .did you mean .*{meant}.*known are MFEA, USPS49"):
        describe_dataset(name)


@pytest.mark.parametrize(
    ("name", "n_features", "counts"),
    [
        ("my own", 10**5, (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)),
        ("my own", 12, (5, 10)),
        ("my own", 5, (5,)),
        ("my own", 4, (1, 2, 3, 4)),
        ("TOX", 35, (10, 20, 30)),
        ("TOX", 3, (1, 2, 3)),
    ],
)
def test_counts_are_bounded_by_the_number_of_features(name, n_features, counts):
    assert default_feature_counts(name, n_features) == counts


def test_differences_are_described(samples):
    X, y = samples
    mine = dataset_from("mine", X, y)
    facts = PublicSet("mine", 7, 3, 3, (1, 2), "a test", "here", content_digest(X, y))
    assert facts.difference_to(mine) is None
    assert facts.difference_to(Dataset("other", X, y)) is None
    assert dataclasses.replace(facts, sha256=None).difference_to(mine) is None
    found = "mine has 7 samples, 3 features and 4 classes, but got 7 samples, 3 features and 3 classes"
    assert dataclasses.replace(facts, n_classes=4).difference_to(mine) == found
    assert "SHA-256 abc, but got " in dataclasses.replace(facts, sha256="abc").difference_to(mine)
