"""PostgreSQL as a source and a sink, on a server of its own: types, one snapshot, faults, secrets, push-down."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from aspca.tables.errors import SourceError
from aspca.tables.postgres import open_postgres, write_postgres
from aspca.tables.request import ReadOptions
from aspca.writers.replaced_file import OutputError
from running.postgres import Cluster
from running.postgres_sentences import numbers, opened, refused, sentence, spoken

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def readings(postgres: Cluster) -> Cluster:
    """200,000 rows: enough for several batches on the way."""
    postgres.run(
        "CREATE TABLE readings AS SELECT g AS id, 1e8 + sin(g) AS a, cos(g * 0.7) * 3 AS b, "
        "1e8 + sin(g) + cos(g * 0.7) * 3 AS total, 7.5::float8 AS fixed, (g % 5)::int4 AS step, "
        "round((g % 997) / 100.0, 2) AS price, 'k' || g AS key FROM generate_series(1, 200000) AS g",
        "CREATE INDEX ON readings (b)",
        "VACUUM ANALYZE readings",
    )
    return postgres


# ---- what columns are


def test_every_type_is_a_number_a_date_a_truth_value_or_text(postgres: Cluster) -> None:
    postgres.run(
        "CREATE SCHEMA kinds",
        "CREATE TYPE kinds.mood AS ENUM ('calm', 'odd')",
        "CREATE DOMAIN kinds.positive AS numeric CHECK (value > 0)",
        'CREATE TABLE kinds."every ""type" (i2 int2, i8 int8, f4 float4, f8 float8, n numeric, dom kinds.positive, '
        "b bool, d date, ts timestamp, tz timestamptz, tx text, mood kinds.mood, u uuid, j json, jb jsonb, by bytea, "
        "span interval, o oid, r int4range, long int8, wide numeric(30, 0), none numeric)",
        """INSERT INTO kinds."every ""type" VALUES
        (1, 2, 1.5, 'NaN', 12.25, 5, true, '2020-01-01', '2020-01-01 10:00', '2020-01-01 10:00+01', 'x', 'calm',
         '00000000-0000-0000-0000-000000000001', '{"a": 1}', '[1]', '\\x01ff', '1 day', 4294967295, '[1,2)',
         9007199254740993, 9007199254740993, NULL),
        (-1, 3, -2.25, 7, 'NaN', 6, NULL, '1960-05-05', '1960-05-05 01:02:03.25', '2020-06-01 10:00+01', NULL, 'odd',
         NULL, NULL, NULL, NULL, NULL, 1, NULL, 5, 9007199254740992, NULL)""",
    )
    with opened(postgres, table='kinds.every "type') as source:
        kinds = {column.name: column.kind for column in source.columns}
        wanted = {"number": "i2 i8 f4 f8 n dom o", "boolean": "b", "date": "d ts tz"}
        wanted["text"] = "tx mood u j jb by span r long wide none"
        assert {kind: set(names.split()) for kind, names in wanted.items()} == {
            kind: {name for name in kinds if kinds[name] == kind} for kind in wanted
        }
        # The rule of typed tables: integers that float64 cannot hold are names, which is said once for each column.
        assert [remark.partition("': ")[2] for remark in source.remarks] == [
            f"integers beyond 2^53, of which digits would be lost, are kept as text in column '{name}'."
            for name in ("long", "wide")
        ]
        missing = {column.name: column.n_missing for column in source.columns}
        assert (missing["f8"], missing["n"], missing["i2"], missing["none"]) == (1, 1, 0, 2)
        found = numbers(source, ["i2", "i8", "f4", "f8", "n", "dom", "b", "d", "ts", "tz", "o"])
        np.testing.assert_array_equal(
            found,
            [
                [1, 2, 1.5, math.nan, 12.25, 5, 1, 1577836800, 1577872800, 1577869200, 4294967295],
                [-1, 3, -2.25, 7, math.nan, 6, math.nan, -304819200, -304815476.75, 1591002000, 1],
            ],
        )
        assert next(iter(source.cells(["tx", "mood", "u", "j", "jb", "by", "span", "r", "long", "wide"]))) == [
            ("x", "calm", "00000000-0000-0000-0000-000000000001", '{"a": 1}', "[1]", "\\x01ff", "1 day", "[1,2)",
             "9007199254740993", "9007199254740993"),
            (None, "odd", None, None, None, None, None, None, "5", "9007199254740992"),
        ]  # fmt: skip


def test_what_no_table_can_hold_is_refused_in_one_sentence(postgres: Cluster) -> None:
    with opened(postgres, query="SELECT ARRAY[1, 2] AS a, ROW(1, 2) AS r, 1 AS x") as source:
        told = {column.name: (column.n_missing, column.remark) for column in source.columns}
        lists = 1, "it holds lists or records"
        assert told == {"a": lists, "r": lists, "x": (0, "")}
    refused(postgres, "column 'd' holds 1 infinite date;", query="SELECT 'infinity'::date AS d")
    refused(postgres, "'x' is given to columns 1 and 2", query="SELECT 1 AS x, 2 AS x")
    refused(postgres, "there are columns but no rows", query="SELECT 1 AS x WHERE false")
    refused(postgres, "beyond those of double precision", query="SELECT 1.5e400 + 0.5 AS x, 0.25 AS y")
    infinite = "SELECT 1::float8 AS x UNION ALL SELECT 'Infinity'"
    with opened(postgres, query=infinite) as source, pytest.raises(SourceError, match=r"value inf in column 'x'"):
        numbers(source, ["x"])


# ---- which rows


def test_tables_views_queries_and_the_only_table(postgres: Cluster) -> None:
    postgres.run(
        "CREATE DATABASE alone",
        "CREATE SCHEMA mine",
        'CREATE TABLE mine."Odd; name" (a int)',
        'INSERT INTO mine."Odd; name" VALUES (1), (2)',
        'CREATE VIEW mine.doubled AS SELECT a * 2 AS b FROM mine."Odd; name"',
        "CREATE TABLE mine.parted (a int) PARTITION BY LIST (a)",
        "CREATE TABLE mine.part_one PARTITION OF mine.parted FOR VALUES IN (1)",
        "INSERT INTO mine.parted VALUES (1)",
    )
    for options, values in (
        ({"table": "mine.Odd; name"}, [1, 2]),
        ({"table": "mine.doubled"}, [2, 4]),
        ({"table": "mine.parted"}, [1]),
        ({"table": "mine.part_one"}, [1]),
        ({"query": '/* why */ SELECT a + 1 AS c FROM mine."Odd; name" ORDER BY 1; '}, [2, 3]),
        ({"query": "WITH q AS (SELECT 5 AS x) SELECT * FROM q -- all"}, [5]),
        ({"query": "VALUES (4), (5)"}, [4, 5]),
    ):
        with opened(postgres, **options) as source:
            assert numbers(source, [source.columns[0].name])[:, 0].tolist() == values
    alone = postgres.address.replace("/postgres", "/alone")
    with pytest.raises(SourceError, match="the database holds no table"):
        open_postgres(alone, ReadOptions())
    write_postgres(alone, "only", pa.schema([("x", pa.int64())]), [pa.record_batch({"x": [3]})])
    with open_postgres(alone, ReadOptions()) as source:
        assert numbers(source, ["x"]).tolist() == [[3.0]]
        assert source.locate(0).endswith("/alone, table 'only': row 0")
    # libpq's other form of an address.
    with open_postgres(postgres.pairs.replace("=postgres", "=alone"), ReadOptions()) as source:
        assert "password=***" in source.description
    refused(postgres, "there is no table 'mine.odd'", table="mine.odd")


def test_only_what_reads_is_run(postgres: Cluster) -> None:
    postgres.run("CREATE TABLE kept (a int)", "INSERT INTO kept VALUES (1)")
    for query, words in (
        ("DELETE FROM kept", "one SELECT, which only reads, but it begins with 'DELETE'"),
        ("SELECT 1 AS a; DELETE FROM kept", "not one SELECT"),
        ("SELECT 1 AS a) AS q; DELETE FROM kept; SELECT * FROM (SELECT 1 AS a", "not one SELECT|multiple commands"),
        ("WITH gone AS (DELETE FROM kept RETURNING *) SELECT * FROM gone", "."),
        ("SELECT nope FROM kept", 'no such column; correct the name .column "nope" does not exist'),
        ("SELECT * FROM nowhere", "there is no such table"),
        ("SELECT 1 / (a - 1) FROM kept", "divides by zero"),
    ):
        refused(postgres, words, query=query)
    assert postgres.run("SELECT count(*) FROM kept") == [(1,)]


def test_passes_are_the_same_whichever_columns_they_ask_for(readings: Cluster) -> None:
    # There is an index on b: whoever asks for b alone could be given its order.
    with opened(readings, table="readings") as source:
        both = numbers(source, ["id", "b"])
        np.testing.assert_array_equal(both[:, 1], numbers(source, ["b"])[:, 0])
        np.testing.assert_array_equal(both[:, 0], numbers(source, ["id"], 1000)[:, 0])
        assert source.count() == len(both)
        # Numbers beside cells, as jobs read them.
        beside = source.cells(["key"], 30000)
        for batch in source.batches(["id"], 30000):
            assert [f"k{int(number)}" for number in batch.values[:, 0]] == [cell for (cell,) in next(beside)]
        assert source.take(["key"], [0, 199_999]) == [(f"k{int(both[0, 0])}",), (f"k{int(both[-1, 0])}",)]


def test_rows_that_change_between_passes_do_not_matter(postgres: Cluster) -> None:
    postgres.run("CREATE TABLE moving AS SELECT g::float8 AS x, 'a' AS t FROM generate_series(1, 5000) AS g")
    with opened(postgres, table="moving") as source:
        before = numbers(source, ["x"])
        reader = source.batches(["x"], 1000)
        next(reader)
        postgres.run(
            "DELETE FROM moving WHERE x < 50",
            "INSERT INTO moving SELECT -1, 'b' FROM generate_series(1, 100)",
            "UPDATE moving SET x = x + 0.5 WHERE x > 4000",
        )
        assert sum(len(batch.values) for batch in reader) == 4000
        np.testing.assert_array_equal(numbers(source, ["x"]), before)
        assert {cell for rows in source.cells(["t"]) for (cell,) in rows} == {"a"}
    with opened(postgres, table="moving") as source:
        assert source.count() == 5000 + 100 - 49


def test_a_query_that_gives_other_rows_each_time_is_refused(postgres: Cluster) -> None:
    query = "SELECT g AS x FROM generate_series(1, 20000) AS g WHERE random() < 0.5"
    refused(postgres, "must give the same rows each time", query=query)


# ---- faults


def test_a_connection_that_drops_in_mid_read_is_one_sentence(readings: Cluster) -> None:
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aspca' "
        "AND query LIKE 'COPY%' AND state = 'active'"
    )
    with opened(readings, query="SELECT a, b, repeat('x', 99) AS pad FROM readings, generate_series(1, 3)") as source:
        reader = source.batches(["a", "b"], 1000)
        next(reader)
        assert readings.run(kill) == [(True,)]
        with pytest.raises(SourceError, match="the connection to the server was lost, so that not all") as caught:
            list(reader)
        sentence(readings, caught.value)
    # Whoever holds the snapshot is gone: no other pass can begin.
    with opened(readings, table="readings") as source:
        readings.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aspca'")
        with pytest.raises(SourceError, match="the connection to the server was lost") as caught:
            numbers(source, ["a"])
        sentence(readings, caught.value)
    idle = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'aspca'"
    assert readings.run(idle) == [(0,)]


def test_what_fails_only_further_on_is_no_shorter_table(readings: Cluster) -> None:
    with opened(readings, query="SELECT id, b / (id - 150000) AS x FROM readings WHERE id <> 150000") as source:
        assert source.count() == 199_999
    refused(readings, "divides by zero", query="SELECT id, b / (id - 150000) AS x FROM readings")
    readings.run(
        "CREATE ROLE hasty LOGIN PASSWORD 'hasty' IN ROLE pg_read_all_data",
        "ALTER ROLE hasty SET statement_timeout = 300",
    )
    hasty = re.sub(r"//.*@", "//hasty:hasty@", readings.address)
    with pytest.raises(SourceError, match="stopped the statement, by its statement_timeout") as caught:
        open_postgres(
            hasty, ReadOptions(query="SELECT g AS x, pg_sleep(0.001)::text AS t FROM generate_series(1, 9999) g")
        )
    sentence(readings, caught.value)


def test_no_way_in_is_one_sentence_that_keeps_every_secret(postgres: Cluster) -> None:
    postgres.run("CREATE ROLE poor LOGIN PASSWORD 'p%oor'", "CREATE TABLE private_rows AS SELECT 1 AS a")
    host = f"127.0.0.1:{postgres.port}"
    secret = "hunter2-S3cret"  # noqa: S105  # not the server's
    for address, words in (
        (f"postgresql://aspca:{secret}@{host}/postgres", "refuses the user or the password"),
        (f"postgresql://aspca@{host}/postgres?password={secret}", "refuses the user or the password"),
        (f"host=127.0.0.1 port={postgres.port} user=aspca password={secret} dbname=postgres", "refuses the user"),
        (f"postgresql://nobody_here:{secret}@{host}/postgres", "refuses the user or the password"),
        (f"postgresql://aspca:{secret}@127.0.0.1:1/postgres", "no server answers there"),
        (f"postgresql://aspca:{secret}/more@{host}/postgres", "no address of PostgreSQL"),
        (f"postgresql://aspca:{secret}@{secret}@{host}/postgres", "no machine of this name"),
        (f"postgresql://aspca:x%zz{secret}@{host}/postgres", "no address of PostgreSQL"),
        (f"postgresql://aspca:{secret}@{host}/postgres?passphrase={secret}", "no address|no connection can be made"),
    ):
        for work in (
            lambda there: open_postgres(there, ReadOptions()),
            lambda there: write_postgres(there, "x", pa.schema([("x", pa.int64())]), []),
        ):
            with pytest.raises(SourceError, match=words) as caught:
                work(address)
            assert secret not in spoken(caught.value)
            assert "hunter2" not in spoken(caught.value)
            assert "***" in str(caught.value)
    with pytest.raises(SourceError, match="no database of this name") as caught:
        open_postgres(postgres.address.replace("/postgres", "/nowhere"), ReadOptions())
    sentence(postgres, caught.value)
    poor = f"postgresql://poor:p%25oor@{host}/postgres"
    with pytest.raises(SourceError, match="permission is denied; ask") as caught:
        open_postgres(poor, ReadOptions(table="private_rows"))
    assert "p%oor" not in spoken(caught.value)
    # A server that repeats the password in its own words.
    refused(postgres, "there is no such table", query=f'TABLE "{postgres.password}"')


def test_nothing_that_a_source_says_holds_the_password(readings: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(readings, table="readings") as source:
        said = f"{source!r} {source.description} {source.remarks} {source.columns} {source.locate(3)}"
        assert readings.password not in said
        assert quote(readings.password, safe="") not in said
        assert source.description == f"postgresql://aspca:***@127.0.0.1:{readings.port}/postgres, table 'readings'"
    # libpq's own variables.
    for name, value in (("HOST", "127.0.0.1"), ("PORT", str(readings.port)), ("USER", "aspca")):
        monkeypatch.setenv(f"PG{name}", value)
    monkeypatch.setenv("PGPASSWORD", readings.password)
    with open_postgres("postgresql:///postgres", ReadOptions(table="readings")) as source:
        assert source.count() == 200_000


# ---- the sink

SCHEMA = pa.schema([("row", pa.int64()), ('the "key"', pa.string()), ("score", pa.float64()), ("bad", pa.bool_())])


def scored(n_batches: int) -> Iterator[Any]:
    for start in range(0, n_batches * 20_000, 20_000):
        rows = np.arange(start, start + 20_000)
        keys = [None if row % 7 == 0 else f"k{row}" for row in rows.tolist()]
        yield pa.record_batch([rows, pa.array(keys), np.sqrt(rows), rows % 2 == 0], schema=SCHEMA)


def test_batches_become_a_table_that_reads_the_same(postgres: Cluster) -> None:
    assert write_postgres(postgres.address, "scores", SCHEMA, scored(3)) == 60_000
    with opened(postgres, table="scores") as source:
        assert [column.kind for column in source.columns] == ["number", "text", "number", "boolean"]
        rows = [row for part in source.cells(SCHEMA.names) for row in part]
    wanted = [tuple(row.values()) for batch in scored(3) for row in batch.to_pylist()]
    assert rows == wanted
    # It is aspca's own, until somebody says otherwise.
    assert write_postgres(postgres.address, "scores", SCHEMA, scored(2)) == 40_000
    postgres.run("COMMENT ON TABLE scores IS 'mine'")
    with pytest.raises(OutputError, match="there is a table of this name that aspca did not write") as caught:
        write_postgres(postgres.address, "scores", SCHEMA, scored(1))
    sentence(postgres, caught.value)
    assert postgres.run("SELECT count(*) FROM scores") == [(40_000,)]
    assert write_postgres(postgres.address, "scores", SCHEMA, scored(1), replace=True) == 20_000
    assert postgres.run("SELECT count(*) FROM scores") == [(20_000,)]
    # No rows are a table, too; and a name is only a name.
    postgres.run('CREATE SCHEMA "sch; ema"')
    assert write_postgres(postgres.address, 'sch; ema.odd "name', SCHEMA, []) == 0
    assert postgres.run('SELECT count(*) FROM "sch; ema"."odd ""name"') == [(0,)]


@pytest.mark.parametrize("replace", [False, True])
def test_a_fault_while_writing_leaves_what_was_there(postgres: Cluster, replace: bool) -> None:
    name = f"faulty_{replace}".lower()
    if replace:
        write_postgres(postgres.address, name, SCHEMA, scored(1))

    class Broken(Exception):
        pass

    def broken() -> Iterator[Any]:
        yield from scored(4)
        raise Broken("the rows cannot be judged")

    def dropped() -> Iterator[Any]:
        yield from scored(2)
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "query LIKE 'COPY %FROM STDIN%' AND pid <> pg_backend_pid()"
        )
        yield from scored(40)

    for batches, kind, words in (
        (broken(), Broken, "the rows cannot be judged"),
        (dropped(), SourceError, "lost, so that nothing was written"),
        ((batch for batch in ["no batch"]), Exception, "."),
    ):
        with pytest.raises(kind, match=words) as caught:
            write_postgres(postgres.address, name, SCHEMA, batches, replace=replace)
        assert postgres.password not in spoken(caught.value)
        there = f"SELECT CASE WHEN to_regclass('{name}') IS NULL THEN 'nothing' ELSE 'something' END"
        assert postgres.run(there) == [("something" if replace else "nothing",)]
    if replace:
        assert postgres.run(f"SELECT count(*) FROM {name}") == [(20_000,)]  # noqa: S608  # our own name
    with pytest.raises(SourceError, match="no such schema") as refusal:
        write_postgres(postgres.address, "nowhere.x", SCHEMA, scored(1))
    sentence(postgres, refusal.value)
    with pytest.raises(SourceError, match="names have 1 to 63 bytes"):
        write_postgres(postgres.address, "x" * 64, SCHEMA, scored(1))
