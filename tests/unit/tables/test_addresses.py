"""Addresses: told from paths, and shown without what is secret in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspca.masking import mask_secrets
from aspca.tables import SourceError
from aspca.tables.paths import is_address, is_postgres, parse_file_address

SHOWN = {
    "postgresql://host/db": "postgresql://host/db",
    "postgresql://host:5432/db": "postgresql://host:5432/db",
    "postgresql://user@host/db": "postgresql://user@host/db",
    "postgresql://user:secret@host/db": "postgresql://user:***@host/db",
    # None of these is escaped as it should be, and people write them.
    "postgres://user:se@cr/e?t@host:5432/db": "postgres://user:***@host:5432/db",
    "postgresql://host/db?user=a&password=secret": "postgresql://host/db?user=a&password=***",
    "postgresql://host/db?sslpassword=secret&application_name=b": "postgresql://host/db?sslpassword=***&application_name=b",
    "postgresql://host/db?pass%77ord=secret": "postgresql://host/db?pass%77ord=***",
    "postgresql://host/db?API_TOKEN=secret": "postgresql://host/db?API_TOKEN=***",
    "mysql://root:secret@host/db": "mysql://root:***@host/db",
    "host=a password=secret dbname=b": "host=a password=*** dbname=b",
    "host=a password='se cret' dbname=b": "host=a password=*** dbname=b",
    "data.csv": "data.csv",
    "a folder/total = a + b.csv": "a folder/total = a + b.csv",
}


@pytest.mark.parametrize(("address", "shown"), SHOWN.items())
def test_secrets_are_not_shown(address: str, shown: str) -> None:
    assert mask_secrets(address) == shown
    assert mask_secrets(shown) == shown


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(lambda text: "***" not in text))
def test_no_password_gets_through(password: str) -> None:
    # Marked, or a password such as "h" would be found in the name of the host.
    secret = f"<{password}>"
    assert secret not in mask_secrets(f"postgresql://user:{secret}@host/db")


def test_paths_are_no_addresses() -> None:
    assert not any(map(is_address, ["data.csv", "C:\\data.csv", "a:b", "/tmp/x", "-", 3, None]))  # noqa: S108
    assert is_postgres("POSTGRES://host/db")
    assert not is_postgres("sqlite:///x.db")


def test_files_at_addresses() -> None:
    assert parse_file_address("sqlite:///plant.db") == ("plant.db", "sqlite")
    assert parse_file_address("duckdb:////var/lib/a%20b.db") == ("/var/lib/a b.db", "duckdb")
    for wrong, said in {
        "sqlite://": "must name a file",
        "sqlite:///x.db?mode=rw": "must name a file",
        "duckdb://host/x": "must name a file",
        "mysql://root:secret@host/db": "addresses of this kind are not read",
        "https://host/x.csv": "addresses of this kind are not read",
    }.items():
        with pytest.raises(SourceError, match=said) as caught:
            parse_file_address(wrong)
        assert "secret" not in str(caught.value)
