"""Defaults are those of `ASPCA`, wrong options are named, and options are what Python and the command both give."""

from __future__ import annotations

import pytest

from aspca import ASPCA
from aspca.cli.options import with_numbers
from aspca.pipeline.options import in_python, make_request, settings_of
from aspca.pipeline.report import provenance_of
from aspca.settings import Settings
from aspca.tables.errors import RequestError


def test_the_paper_preset_is_the_estimators() -> None:
    for given in ({}, {"score": "standardized"}, {"level": 0.9}):
        assert settings_of(given, "paper") == Settings.of(ASPCA.paper(**given).get_params())
    assert settings_of({}) == Settings.of(ASPCA().get_params())


def test_numbers_and_words() -> None:
    given = {"n_components": "3", "level": "0.5", "tol": "1e-3", "alpha": "auto", "max_iter": None, "id": "3"}
    # Only settings are numbers: a column may be called 3.
    assert with_numbers(given) == {**given, "n_components": 3, "level": 0.5, "tol": 1e-3}
    assert isinstance(with_numbers(given)["n_components"], int)


def test_columns_however_they_are_named() -> None:
    by_lists = make_request("t.csv", ignore=["a"], categorical=["hue", "kind=codes"], transform=["x=sqrt"], log="y")
    by_mappings = make_request(
        ["t.csv"], ignore="a", categorical={"hue": "one-hot", "kind": "codes"}, transform={"x": "sqrt"}, log=("y",)
    )
    kinds = {"y": "log", "hue": "one-hot", "kind": "codes", "x": "sqrt"}
    for request in (by_lists, by_mappings):
        assert request.source == ["t.csv"]
        assert request.columns.ignore == ("a",)
        assert request.columns.conversions == kinds


def test_what_is_not_given_is_not_asked_for() -> None:
    plain, spelled_out = (
        make_request("t.csv"),
        make_request("t.csv", None, ignore=None, output=None, level=None, by=None),
    )
    assert (plain.columns, plain.settings, plain.reading, plain.output) == (
        spelled_out.columns,
        spelled_out.settings,
        spelled_out.reading,
        spelled_out.output,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ignor": "a"}, r"There is no option 'ignor'; did you mean 'ignore'\?"),
        ({"frobnicate": 1}, "There is no option 'frobnicate'; there are calibrate, id, time"),
        ({"lift": "auto"}, r"lift takes rows at hand: fit them by ASPCA.paper\(lift="),
        ({"scores": "xml"}, "--scores must be csv or parquet, not 'xml'"),
        ({"top": -1}, "--top must be a whole number of at least 0"),
        ({"patience": -0.5}, "--patience must be a number of at least 0"),
        ({"by": "site", "calibrate": "c.csv", "limit": "conformal"}, "--by and --calibrate exclude each other"),
        ({"transform": ["a=ln"]}, "--transform takes a column and one of log"),
        ({"log": "a", "date": "a"}, "Column 'a' cannot be both log and date"),
        ({"delimiter": ";;"}, "The delimiter must be one character"),
        ({"preset": "poster"}, "--preset must be one of paper, got 'poster'"),
        ({"max_features": 0}, "--max-features must be"),
        ({"limit": "conformal"}, "--limit conformal needs normal rows kept out of the fit"),
        ({"calibrate": "c.csv"}, "--calibrate is for --limit conformal"),
    ],
    ids=str,
)
def test_options_that_cannot_be(options: dict[str, object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        make_request("t.csv", **options)


def test_sentences_in_the_words_of_python() -> None:
    told = in_python("--label: t.csv has no column 'x-y'; give --allow-missing, or --n-components 20.")
    assert told == "label: t.csv has no column 'x-y'; give allow_missing, or n_components 20."


def test_addresses_are_no_files_and_their_secrets_are_nowhere() -> None:
    address = "postgresql://me:secret@host/db"
    request = make_request(address, table="readings", query=None)
    assert request.inputs == []
    told = provenance_of(request, "postgresql://me:***@host/db")
    assert told.inputs == (("postgresql://me:***@host/db", "judged", None),)
    assert "'postgresql://me:***@host/db' --table readings" in told.command
    assert "secret" not in repr(told)
