"""The data of the paper: synthetic, Breast-Cancer and KDD99, selected and encoded as it describes."""

from aspca.datasets.breast_cancer import load_breast_cancer
from aspca.datasets.dataset import Dataset
from aspca.datasets.kdd99 import load_kdd99
from aspca.datasets.synthetic import load_synthetic

__all__ = ["Dataset", "load_breast_cancer", "load_kdd99", "load_synthetic"]
