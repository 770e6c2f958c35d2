"""Where moments are taken: here, of rows streamed out of an engine, or inside of it, so that no row leaves it."""

from __future__ import annotations

from aspca.engines.source import Source
from aspca.engines.sql_moments import is_quicker_pushed
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.tables import Parted, TableSource
from aspca.moments import Moments
from aspca.preparation import Preparation
from aspca.settings import Settings


def taken_inside(table: TableSource, plan: Preparation, settings: Settings, way: str) -> Moments | None:
    """The moments of a table, taken inside its engine where that was asked for, or is quicker; None: they are not.

    Parameters
    ----------
    way : one of `aspca.jobs.requests.MOMENTS`

    Raises
    ------
    RequestError
        The engine was asked for, and cannot take them, or rows are needed for something else.
    JobError
        A value that cannot be learned from.
    """
    if way == "stream":
        return None
    engine = table.sql_engine if isinstance(table, Source) else None
    if way == "auto" and settings.judges_by_evidence:
        # Tails are learned from rows.
        return None
    needs = _needs_rows(plan, settings)
    if way == "auto" and (engine is None or needs or not is_quicker_pushed(engine, len(plan.names))):
        return None
    if needs:
        raise RequestError(f"--moments engine takes sums and leaves rows where they are, but {needs}.")
    try:
        found = table.pushed(plan.names) if isinstance(table, Source) else None
    except ValueError as error:
        raise JobError(f"{table.description}: {error}") from None
    if found is None and way == "engine":
        raise RequestError(
            f"--moments engine is for PostgreSQL, Parquet and DuckDB files, and {table.description} is none of these, "
            "or has cells that are named as missing; leave it out."
        )
    return found


def _needs_rows(plan: Preparation, settings: Settings) -> str:
    if plan.missing == "allow":
        return "gaps are filled row by row; leave out columns that have some, with --ignore"
    if not plan.plain:
        return "categories, dates and logarithms are made of cells; leave such columns out, with --ignore"
    if settings.from_rows:
        return "this limit rests on rows; leave out --limit, or give pearson"
    return ""


def way_remark(table: TableSource, way: str) -> list[str]:
    """Where moments were taken, of a table in an engine."""
    if way == "engine":
        return [
            f"{table.description}: sums were taken inside the engine, and no row left it for them; so limits are those "
            "of a law, which normal rows with heavy tails exceed more often than they should."
        ]
    if isinstance(table, Parted):
        return [f"{table.description}: every pass ran where its parts are, on the workers of {table.engine}."]
    if isinstance(table, Source) and table.sql_engine == "postgres":
        return [
            f"{table.description}: rows were streamed from one snapshot; --moments engine takes sums in the server."
        ]
    return []
