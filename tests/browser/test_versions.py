"""Several versions side by side, with mike, in a clone of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT, build


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versions") / "clone"
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    for name, value in (("user.name", "test"), ("user.email", "test@localhost")):
        git(folder, "config", name, value)
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "start")
    return folder


def test_two_versions_stand_side_by_side(clone: Path):
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(clone)}
    environment["NO_MKDOCS_2_WARNING"] = "1"
    for version in ("1.0", "1.1"):
        command = [str(tools / "mike"), "deploy", "--config-file", "versions.yml", "--update-aliases"]
        done = subprocess.run([*command, version, "latest"], cwd=clone, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    files = git(clone, "ls-tree", "-r", "--name-only", "gh-pages").split()
    assert {"1.0/index.html", "1.1/index.html", "1.1/llms.txt", "latest", "versions.json"} <= set(files)
    versions = json.loads(git(clone, "show", "gh-pages:versions.json"))
    assert [(each["version"], each["aliases"]) for each in versions] == [("1.1", ["latest"]), ("1.0", [])]
    assert "This page as Markdown" in git(clone, "show", "gh-pages:1.0/contract/routing/index.html")


def test_a_repository_that_is_named_can_be_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REPO_URL", "https://example.org/team/project/")
    build(tmp_path)
    text = (tmp_path / "contract/fields/index.html").read_text()
    assert 'href="https://example.org/team/project/edit/main/docs/contract/fields.md"' in text
    assert 'data-md-component="source"' not in text
