"""Datasets to evaluate selections on: public ones by name, your own by path, and synthetic ones."""

from ufselect.datasets.content import Dataset, content_digest
from ufselect.datasets.loaders import data_folder, load_dataset
from ufselect.datasets.planted import PlantedClusters, make_planted_clusters
from ufselect.datasets.registry import PublicSet, dataset_names, default_feature_counts, describe_dataset

__all__ = [
    "Dataset",
    "PlantedClusters",
    "PublicSet",
    "content_digest",
    "data_folder",
    "dataset_names",
    "default_feature_counts",
    "describe_dataset",
    "load_dataset",
    "make_planted_clusters",
]
