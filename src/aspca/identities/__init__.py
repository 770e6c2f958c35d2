"""Exact relations between columns, linear or not: proposed from small draws of rows, decided by counting all."""

from aspca.identities.identity import Identities, Identity
from aspca.identities.localize import Repair
from aspca.identities.search import find_identities

__all__ = ["Identities", "Identity", "Repair", "find_identities"]
