"""Exact relations between columns, linear or not: proposed from small draws of rows, decided by counting all."""

from aspca.identities.finding import find_identities
from aspca.identities.identity import Identities, Identity
from aspca.identities.localize import Repair

__all__ = ["Identities", "Identity", "Repair", "find_identities"]
