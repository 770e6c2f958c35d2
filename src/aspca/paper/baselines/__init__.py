"""What the paper compares with: plain PCA, joint sparse PCA, and a decision tree that imitates a detector."""

from aspca.paper.baselines.jspca import JSPCA
from aspca.paper.baselines.subspace import PCADetector
from aspca.paper.baselines.surrogate import Condition, SurrogateTree, TreeRule

__all__ = ["JSPCA", "Condition", "PCADetector", "SurrogateTree", "TreeRule"]
