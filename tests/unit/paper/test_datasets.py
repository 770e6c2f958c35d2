"""The paper's data: what was selected, what was encoded, and the published row of plain PCA."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

from aspca.paper import datasets
from aspca.paper.datasets import Dataset, find_data, load_breast_cancer, load_kdd99, load_synthetic

# The four patterns made orthonormal: A - B, (A + B)/2 + C - D, F and G.
PATTERNS = np.zeros((7, 4))
PATTERNS[[0, 1], 0] = np.array([1.0, -1.0]) / np.sqrt(2.0)
PATTERNS[:4, 1] = np.array([0.5, 0.5, 1.0, -1.0]) / np.sqrt(2.5)
PATTERNS[[5, 6], [2, 3]] = 1.0


@pytest.fixture(scope="module")
def kdd() -> Dataset:
    try:
        return load_kdd99()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def test_breast_cancer_is_the_papers_selection() -> None:
    dataset = load_breast_cancer()
    assert dataset.data.shape == (367, 30)
    assert Counter(dataset.kinds) == {"normal": 357, "malignant": 10}
    assert dataset.labels.tolist() == [0] * 357 + [1] * 10
    original = sklearn.datasets.load_breast_cancer()
    assert np.array_equal(dataset.data[357:], original.data[:10])  # the file opens with malignant records
    assert np.array_equal(dataset.data[0], original.data[19])
    names = dataset.feature_names
    assert names[:4] == ("radius_mean", "texture_mean", "perimeter_mean", "area_mean")
    assert (names[7], names[13], names[28]) == ("concave_points_mean", "area_se", "symmetry_worst")
    assert names[19] == "fractal_dimension_se"
    assert len(set(names)) == 30


def test_kdd99_is_the_papers_selection(kdd: Dataset) -> None:
    assert kdd.data.shape == (102_472, 41)
    counts = Counter(kdd.kinds)
    assert counts["normal"] == 97_278
    assert {counts[kind] for kind in datasets.FIRST_500} == {500}
    assert (counts["pod"], counts["nmap"], counts["warezclient"], counts["warezmaster"]) == (264, 231, 1020, 20)
    assert counts["land"] == 21
    assert kdd.labels.sum() == 5_194
    assert np.array_equal(kdd.labels == 1, np.array(kdd.kinds) != "normal")


def test_kdd99_is_encoded_as_described(kdd: Dataset) -> None:
    first = dict(zip(kdd.feature_names, kdd.data[0], strict=True))
    assert (first["protocol_type"], first["service"], first["flag"], first["logged_in"]) == (0, 0, 0, 1)
    assert first["src_bytes"] == np.log1p(181)
    assert first["dst_bytes"] == np.log1p(5450)
    assert (first["dst_host_count"], first["dst_host_same_src_port_rate"]) == (9, 0.11)
    for name, known in zip(("protocol_type", "service", "flag"), datasets.KDD99_CODES, strict=True):
        codes = set(kdd.data[:, kdd.feature_names.index(name)].tolist())
        assert codes <= set(range(len(known)))
        assert 0 in codes


def record(service: str, flag: str, label: str, protocol: str = "tcp", src_bytes: int = 0) -> str:
    return f"0,{protocol},{service},{flag},{src_bytes}," + "0,0.5," * 18 + f"{label}."


MADE_UP = [
    record("http", "SF", "land"),
    record("ftp", "S0", "normal", "icmp", 99),
    *[record("smtp", "SF", "smurf", "udp")] * 501,
    record("http", "S0", "smurf"),
    record("ftp", "REJ", "phf", "tcp"),
]


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the same form, taken for the published one."""
    path = tmp_path / datasets.KDD99_FILE
    path.parent.mkdir()
    path.write_bytes(gzip.compress(("\n".join(MADE_UP) + "\n").encode("ascii")))
    monkeypatch.setenv("ASPCA_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "KDD99_CHECKSUM", hashlib.sha256("\n".join(MADE_UP).encode("ascii")).hexdigest())
    return path


def test_kdd99_from_a_made_up_file(made_up: Path) -> None:
    dataset = load_kdd99()
    assert dataset.data.shape == (503, 41)
    assert Counter(dataset.kinds) == {"land": 1, "normal": 1, "smurf": 500, "phf": 1}
    http, smtp, ftp = (datasets.KDD99_CODES[1][word] for word in ("http", "smtp", "ftp"))
    s0, rej = (datasets.KDD99_CODES[2][word] for word in ("S0", "REJ"))
    assert (http, smtp, datasets.KDD99_CODES[2]["SF"]) == (0, 1, 0)
    assert dataset.data[0, :5].tolist() == [0.0, 0.0, http, 0.0, 0.0]
    assert dataset.data[1, :6].tolist() == [0.0, 2.0, ftp, s0, np.log1p(99), 0.0]
    assert dataset.data[2, :5].tolist() == [0.0, 1.0, smtp, 0.0, 0.0]
    assert dataset.data[-1, :5].tolist() == [0.0, 0.0, ftp, rej, 0.0]
    assert dataset.data[-1, 6] == 0.5


def test_kdd99_may_be_unpacked_and_have_other_ends_of_lines(made_up: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes("\r\n".join(MADE_UP).encode("ascii"))
    assert np.array_equal(load_kdd99(plain).data, load_kdd99().data)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: content[: len(content) // 2], "is damaged or only a part of a file"),
        (lambda content: gzip.compress(gzip.decompress(content)[:-200]), "is not the 10 % file of KDD Cup 1999"),
        (lambda content: gzip.compress(gzip.decompress(content).replace(b"phf", b"spy")), "is not the 10 % file"),
        (lambda content: b"a,b\n1,2\n", r"\(2 records where that has 494,021"),
        (lambda content: b"", "is not the 10 % file"),
    ],
)
def test_another_file_is_refused_in_a_sentence(made_up: Path, spoil: Callable[[bytes], bytes], said: str) -> None:
    made_up.write_bytes(spoil(made_up.read_bytes()))
    with pytest.raises(ValueError, match=said) as refusal:
        load_kdd99()
    assert "kddcup.data_10_percent.gz" in str(refusal.value)
    assert str(refusal.value).count("\n") == 0


def test_a_path_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere.*--kdd99"):
        load_kdd99(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="is no file"):
        load_kdd99(tmp_path)


def test_kdd99_from_scikit_learn_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [line.split(",") for line in MADE_UP]
    table = np.array(
        [[w.encode() if k in (1, 2, 3) else float(w) for k, w in enumerate(row[:-1])] for row in fields], dtype=object
    )
    target = np.array([row[-1].encode() for row in fields], dtype=object)
    monkeypatch.setattr(sklearn.datasets, "fetch_kddcup99", lambda **_: SimpleNamespace(data=table, target=target))
    monkeypatch.setenv("ASPCA_DATA", str(tmp_path))
    fetched = load_kdd99(download=True)
    read = datasets._parse_lines(MADE_UP)
    assert np.array_equal(fetched.data, read.data)
    assert fetched.kinds == read.kinds
    assert np.array_equal(fetched.labels, read.labels)


def test_missing_data_are_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPCA_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"kddcup.*is not in ASPCA_DATA .*download=True\)\.$"):
        load_kdd99()


def test_data_are_found_beside_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / "src" / "aspca" / "deep").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    wanted = tmp_path / "shared" / "data" / "some" / "file.txt"
    wanted.parent.mkdir(parents=True)
    wanted.touch()
    monkeypatch.delenv("ASPCA_DATA", raising=False)
    monkeypatch.chdir(project / "src" / "aspca" / "deep")
    assert find_data("some/file.txt").samefile(wanted)
    monkeypatch.setenv("ASPCA_DATA", str(project))  # named, so nothing else is tried
    with pytest.raises(FileNotFoundError, match="ASPCA_DATA"):
        find_data("some/file.txt")


def test_synthetic_has_the_papers_rows() -> None:
    dataset = load_synthetic()
    assert dataset.data.shape == (515, 7)
    assert dataset.feature_names == tuple("ABCDEFG")
    assert Counter(dataset.kinds) == {"normal": 500, "A = B": 5, "D = C + A": 5, "F = 0": 5}
    assert np.array_equal(dataset.labels == 1, np.array(dataset.kinds) != "normal")
    normal = load_synthetic(normal_only=True)
    assert np.array_equal(normal.data, dataset.data[:500])
    assert set(normal.kinds) == {"normal"}
    assert np.array_equal(load_synthetic().data, dataset.data)
    assert not np.array_equal(load_synthetic(1).data, dataset.data)


def test_synthetic_anomalies_break_their_own_pattern_only() -> None:
    dataset = load_synthetic()
    a, b, c, d, _, f, g = dataset.data.T
    deviations = {"A = B": a - b, "D = C + A": d - c - a, "F = 0": f, "G = 0": g}
    kinds = np.array(dataset.kinds)
    for pattern, deviation in deviations.items():
        assert np.abs(deviation[kinds != pattern]).max() < 0.5
        assert (np.abs(deviation[kinds == pattern]) > 0.9).all()
        assert 0.09 < deviation[kinds == "normal"].std() < 0.11


@pytest.mark.parametrize("seed", range(100))
def test_synthetic_threshold_of_the_paper_separates(seed: int) -> None:
    dataset = load_synthetic(seed)
    centred = dataset.data - dataset.data.mean(axis=0)
    spe = ((centred @ PATTERNS) ** 2).sum(axis=1)
    assert spe[dataset.labels == 0].max() < 0.25
    assert spe[dataset.labels == 1].min() > 0.25
    usual = dataset.data[:500]
    inside = (dataset.data >= usual.min(axis=0)) & (dataset.data <= usual.max(axis=0))
    assert inside[500:505, 1].all()
    assert inside[505:510, 3].all()


def test_a_dataset_is_read_only_and_fits_together() -> None:
    dataset = load_synthetic()
    for array in (dataset.data, dataset.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(ValueError, match="must fit the 2 rows and 1 columns"):
        Dataset(np.zeros((2, 1)), ("a", "b"), np.zeros(2, dtype=np.intp), ("normal",) * 2, "")
