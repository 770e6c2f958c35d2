"""Anomaly detection that says why."""

__version__ = "0.1.0.dev0"
