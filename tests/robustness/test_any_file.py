"""Damaged files that come with the package: each reader gives what it read, or one line that names the file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spec_examples
from spec_examples import stories
from spec_examples.conformance import known
from spec_examples.conformance import record as recorded
from spec_examples.explorer import table
from spec_examples.gate.cli import main
from spec_examples.lint import by_eye, measured
from spec_examples.model_check.in_tree import found
from spec_examples.mutants import record as catches
from spec_examples.stories import story
from spec_examples.targets import catalogue

ROOT = Path(spec_examples.__file__).parent
RESULT = (ROOT / "conformance/results/0.30.0-ar.toml").read_bytes()


def damaged(content: bytes):
    """``content`` with some bytes in some place taken out or put in."""
    place = st.integers(0, len(content))
    return st.builds(
        lambda at, length, put: content[:at] + put + content[at + length :],
        place,
        st.sampled_from([0, 1, 3, 50, len(content)]),
        st.binary(max_size=4) | st.sampled_from([b"=", b'"', b"[", b"\n", b"[[release]]\n", b"x = 1\n", b"[" * 3000]),
    )


def in_a_folder(module, name):
    """A reader that takes a path, given the file's content."""

    def read(content, folder):
        path = folder / name
        path.write_bytes(content)
        return module(path)

    return read


def read_story(content, folder):
    """The story "drafts", its file with that content."""
    (folder / "drafts.json.gz").write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stories, "RECORDED", folder)
        return stories.recorded(story("drafts"))


READERS = {
    "releases.toml": ((ROOT / "targets/releases.toml").read_bytes(), lambda content, _: catalogue.read(content)),
    "divergences.toml": (
        (ROOT / "conformance/divergences.toml").read_bytes(),
        lambda content, _: known.read(content),
    ),
    "0.30.0-ar.toml": (RESULT, in_a_folder(recorded.read, "0.30.0-ar.toml")),
    "by_eye.toml": (by_eye.FILE.read_bytes(), in_a_folder(by_eye.read, "by_eye.toml")),
    "0.30.0.toml": (
        (measured.RESULTS / "0.30.0.toml").read_bytes(),
        in_a_folder(measured.read_measured, "0.30.0.toml"),
    ),
    "recorded.json": (
        table.FILE.read_bytes(),
        in_a_folder(lambda path: table.read.__wrapped__(path), "recorded.json"),
    ),
    "found.json": (
        (ROOT / "model_check/in_tree/found.json").read_bytes(),
        in_a_folder(found.read, "found.json"),
    ),
    "drafts.json.gz": (story("drafts").file.read_bytes(), read_story),
    **{
        f"catches {path.name}": (path.read_bytes(), in_a_folder(catches.read, path.name))
        for path in catches.CATCHES.glob("*.toml")
    },
}


def said_of(read, *given_):
    """What a reader says that cannot read it; empty where it can. Nothing else is raised."""
    try:
        read(*given_)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_file(name, tmp_path_factory, data):
    content, read = READERS[name]
    said = said_of(read, data.draw(damaged(content)), tmp_path_factory.getbasetemp())
    assert not said or name.rpartition(" ")[2] in said
    assert "\n" not in said


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=damaged((ROOT / "conformance/results/0.30.0-ar.traces.xz").read_bytes()))
def test_damaged_traces(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp()
    (folder / "0.30.0-ar.traces.xz").write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "RESULTS", folder)
        said = said_of(recorded.traces_of, recorded.read(ROOT / "conformance/results/0.30.0-ar.toml"))
    assert not said or said.startswith("0.30.0-ar.traces.xz: not recorded traces")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("module", "cached", "words"),
    [(catalogue, catalogue.releases, ["targets"]), (known, known.divergences, ["matrix", "--release", "0.30.0"])],
    ids=["releases.toml", "divergences.toml"],
)
def test_the_command_says_so_in_one_line(module, cached, words, monkeypatch, capsys):
    read = module.read
    monkeypatch.setattr(module, "read", lambda content: read(b"x = 1"))
    cached.cache_clear()
    try:
        assert main(words) == 2
    finally:
        cached.cache_clear()
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "toml: lacks '" in err
    assert "; restore it, as it came with this package" in err
