"""Tables as people write them, through `detect`: what was guessed is said, and stands in the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from aspca.cli.main import main
from written_tables import NBSP, Style, text_of

N, ROW = 40, 17
STYLES = {
    "european": Style(",", "."),
    "blanks": Style(",", NBSP, behind=" €"),
    "dollars": Style(".", ",", before="$", negative="brackets"),
    "indian": Style(".", ",", indian=True, before="₹"),
    "percent": Style(".", "", behind="%", negative="trailing"),
    "typographic": Style(",", "", negative="typographic"),
}


def written(style: Style) -> str:
    """Rows in which b = 2 a, but for row 17."""
    rng = np.random.default_rng(5)
    a = [Decimal(int(value)) / 4 for value in rng.integers(-(10**6), 10**6, size=N)]
    b = [2 * value for value in a]
    b[ROW] += Decimal(250_000)
    c = [Decimal(int(value)) / 4 for value in rng.integers(0, 10**6, size=N)]
    return text_of(["a", "b", "c"], [[style.spelled(one) for one in column] for column in (a, b, c)], ";")


@pytest.mark.parametrize("name", STYLES)
def test_detect_finds_the_row_and_says_how_it_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(written(STYLES[name]), encoding="utf-8")
    assert main(["detect", "t.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert next(finding["row"] for finding in json.loads(out)["anomalies"]) == ROW
    reading = json.loads(Path("t.csv.aspca/model.json").read_text())["reading"]
    assert reading
    assert all(sentence in err for sentence in reading)
    assert main(["rules", "t.csv.aspca/model.json"]) == 0
    assert reading[0] in capsys.readouterr().err


@pytest.mark.promise
def test_what_is_refused_says_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    whole = rng.integers(1000, 10**5, size=N)
    lines = [f"{value:,};{2 * value:,};{int(value) % 7}" for value in whole.tolist()]
    Path("t.csv").write_text("\n".join(["a;b;c", *lines]))
    assert main(["detect", "t.csv"]) == 2
    err = capsys.readouterr().err
    assert "--decimal ," in err
    assert "--thousands ," in err
    assert main(["detect", "t.csv", "--thousands", ",", "--no-output"]) == 0


@pytest.mark.parametrize("words", [["-999"], ["-999,offline"], ["-999", "offline"]])
def test_named_words_are_missing(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    cells = [[f"{value:.3f}" for value in rng.normal(size=N)] for _ in range(3)]
    cells[0][3] = "-999.000"
    cells[2][4] = "offline" if "offline" in ",".join(words) else "1"
    Path("t.csv").write_text(text_of(["a", "b", "c"], cells))
    options = [part for word in words for part in ("--missing", word)]
    assert main(["detect", "t.csv", *options, "--no-allow-missing", "--no-output", "-q"]) == 2
    err = capsys.readouterr().err
    assert "'a'" in err
    assert ("'c'" in err) == ("offline" in ",".join(words))
    assert main(["detect", "t.csv", *options, "--no-output", "-q"]) == 0


@pytest.mark.promise
def test_old_model_files_are_refused(
    tmp_path: Path, reseal: Callable[[dict[str, object]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of an earlier format, or written before sentences on reading were kept: in a sentence, with what to do."""
    (tmp_path / "t.csv").write_text(written(Style(",")), encoding="utf-8")
    model = tmp_path / "model.json"
    assert main(["fit", str(tmp_path / "t.csv"), "--model", str(model), "-q"]) == 0
    content = json.loads(model.read_text())
    assert main(["rules", str(model)]) == 0
    model.write_text(reseal({**content, "version": 2}))
    assert main(["rules", str(model)]) == 1
    assert "format 2 by an earlier development version" in (err := capsys.readouterr().err)
    assert err.endswith("fit the model again with this version.\n")
    assert content.pop("reading")
    model.write_text(reseal(content))
    assert main(["rules", str(model)]) == 1
    assert "the field reading is missing" in capsys.readouterr().err


@pytest.fixture
def reseal() -> Callable[[dict[str, object]], str]:
    from aspca.model_file.json_text import seal

    def text(content: dict[str, object]) -> str:
        content = {key: value for key, value in content.items() if key != "checksum"}
        return seal(content).decode()

    return text
