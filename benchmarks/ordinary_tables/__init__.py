"""Measures verdicts on ordinary tables: which tables, wrong cells put into them, the library, its peers, the figures.

Nothing here uses the library except `product`, and that only by its public names.
"""
