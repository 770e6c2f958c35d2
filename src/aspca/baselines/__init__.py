"""What the paper compares with: plain PCA, joint sparse PCA, and a decision tree that imitates a detector."""

from aspca.baselines.jspca import JSPCA
from aspca.baselines.pca import PCADetector
from aspca.baselines.surrogate import SurrogateTree
from aspca.baselines.tree_rules import Condition, TreeRule

__all__ = ["JSPCA", "Condition", "PCADetector", "SurrogateTree", "TreeRule"]
