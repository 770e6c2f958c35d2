"""Columns as users have them, made into numbers: what each becomes, and back again."""

from aspca.preparation.columns import CATEGORIES, KINDS, ColumnPlan
from aspca.preparation.feature import Feature
from aspca.preparation.plan import MISSING, Preparation

__all__ = ["CATEGORIES", "KINDS", "MISSING", "ColumnPlan", "Feature", "Preparation"]
