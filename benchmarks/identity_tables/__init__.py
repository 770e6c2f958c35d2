"""Measures how well exact relations of a table ("identities") are discovered: tables, ground truth, corruption, checks.

Nothing here uses the library except `finder`, which holds the interface under test.
"""
