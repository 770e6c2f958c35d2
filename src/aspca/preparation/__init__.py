"""Columns as users have them, made into numbers: what each becomes, and back again."""

from aspca.preparation.columns import CATEGORIES, KINDS, MISSING, ColumnPlan, Preparation
from aspca.preparation.feature import Feature

__all__ = ["CATEGORIES", "KINDS", "MISSING", "ColumnPlan", "Feature", "Preparation"]
