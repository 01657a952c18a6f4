"""What is in the wheel and in the source distribution, and that the same tree gives the same bytes."""

import hashlib
import tarfile
import zipfile
from email import message_from_bytes

import dist
import pytest

PINS = "spec_examples/shipped/requirements/runner.txt"


def test_both_hold_what_they_should_and_nothing_else(archives):
    assert list(dist.wrong_with(*archives)) == []


@pytest.mark.parametrize("lost", ["spec_examples/shipped/docs/contract/routing.md", "spec_examples/py.typed", PINS])
def test_a_file_that_is_lost_from_the_wheel_is_named(archives, tmp_path, lost):
    sdist, wheel = archives
    less = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(less, "w", zipfile.ZIP_DEFLATED) as part:
        for name in whole.namelist():
            if name != lost:
                part.writestr(name, whole.read(name))
    assert list(dist.wrong_with(sdist, less)) == [f"{wheel.name} lacks {lost}"]


def test_the_base_install_has_no_runner_in_it(archives):
    with zipfile.ZipFile(archives[1]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("METADATA"))
        metadata = message_from_bytes(wheel.read(name))
    base = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert not [line for line in base if line.startswith(("torch", "vllm", "mkdocs"))]
    assert set(metadata.get_all("Provides-Extra")) == {"site", "dev"}, "no extra installs a runner: --setup does"


def test_the_same_tree_gives_the_same_bytes(archives, tmp_path):
    again = dist.build(tmp_path)
    digests = [[hashlib.sha256(archive.read_bytes()).hexdigest() for archive in pair] for pair in (archives, again)]
    assert digests[0] == digests[1]


def test_no_time_of_this_machine_is_in_an_archive(archives):
    with tarfile.open(archives[0]) as sdist:
        assert {member.mtime for member in sdist} == {dist.epoch()}
        assert {(member.uid, member.uname) for member in sdist} == {(0, "")}
    with zipfile.ZipFile(archives[1]) as wheel:
        assert len({member.date_time for member in wheel.infolist()}) == 1
