"""Commits of a local repository as targets, and the search between two of them. Work trees stay as they are."""

import subprocess

import pytest
from trees import tree, write

from spec_examples.gate.cli import main
from spec_examples.targets import TargetUnavailable, commits, resolve
from spec_examples.targets.bisecting import Search


def git(folder, *arguments):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def repository(tmp_path):
    """Two commits, of which the first is tagged, and a work tree with changes of its own."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, {"vllm_omni/__init__.py": "STATE = 1\n", "requirements/common.txt": "x\n", "docs/a.md": "a\n"})
    git(folder, "tag", "v0.21.0")
    commit(folder, {"vllm_omni/__init__.py": "STATE = 2\n"})
    write(folder, {"vllm_omni/__init__.py": "STATE = 'not committed'\n"})
    return folder


def commit(folder, files, subject="a change"):
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def state(found):
    return (found.folder / "vllm_omni" / "__init__.py").read_text().split()[-1]


def test_what_a_person_writes(tmp_path):
    assert commits.parse("git+../omni@v0.21.0") == ("../omni", "v0.21.0")
    assert commits.parse("git+/a@b/omni@HEAD~2") == ("/a@b/omni", "HEAD~2")
    assert commits.parse("git+../omni") == ("../omni", "HEAD")
    assert commits.parse("../omni") is None
    (tmp_path / "a@b").mkdir()
    assert commits.parse(f"git+{tmp_path}/a@b") == (f"{tmp_path}/a@b", "HEAD")


def test_a_revision_is_unpacked_and_the_work_tree_stays(repository):
    before = git(repository, "status", "--porcelain")
    first, second = (commits.unpack(str(repository), revision) for revision in ("v0.21.0", "HEAD"))
    assert (state(first), state(second)) == ("1", "2")
    assert (first.tag, second.tag) == ("v0.21.0", "v0.21.0")
    assert sorted(path.name for path in first.folder.iterdir()) == ["requirements", "vllm_omni"]
    assert git(repository, "status", "--porcelain") == before
    assert commits.unpack(str(repository), "HEAD").folder == second.folder


def test_a_bare_repository_and_a_worktree(repository, tmp_path):
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare.git")
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "beside"), "v0.21.0")
    assert state(commits.unpack(str(tmp_path / "bare.git"), "main")) == "2"
    assert state(commits.unpack(str(tmp_path / "beside"), "HEAD")) == "1"


def test_a_folder_below_a_repository(tmp_path):
    folder = tmp_path / "mono"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, {"packages/omni/vllm_omni/__init__.py": "STATE = 3\n"})
    assert state(commits.unpack(str(folder / "packages" / "omni"), "HEAD")) == "3"
    with pytest.raises(TargetUnavailable, match="contains no vllm_omni/ in HEAD: give the folder that it lies in"):
        commits.unpack(str(folder), "HEAD")
    with pytest.raises(TargetUnavailable, match=r"give the folder that the package lies in, .*mono/packages/omni$"):
        resolve(str(folder))


def test_what_cannot_be_found(repository, tmp_path, monkeypatch):
    for text, said in {
        f"git+{repository}@nowhere": "has no revision 'nowhere': name a branch, a tag or a commit of it",
        f"git+{tmp_path}@HEAD": "is not in a git repository",
        "git+/no/such/folder@HEAD": "/no/such/folder is no folder",
    }.items():
        with pytest.raises(TargetUnavailable, match=said) as caught:
            resolve(text)
        assert "\n" not in str(caught.value)
    with pytest.raises(TargetUnavailable, match="names its revision already"):
        resolve(f"git+{repository}@HEAD", rev="HEAD")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetUnavailable, match="no git is installed here"):
        resolve(str(repository), rev="HEAD")


@pytest.fixture
def history(repository):
    """Ten commits more, of which every other touches the runner; the seventh changes what is asked for."""
    made = []
    for number in range(10):
        name = "worker/runner.py" if number % 2 == 0 else "models/other.py"
        text = f"STATE = {'new' if number >= 6 else 'old'!r}  # {number}\n"
        files = {f"vllm_omni/{name}": f"# {number}\n", "vllm_omni/__init__.py": text} if number == 6 else {}
        made.append(commit(repository, files or {f"vllm_omni/{name}": f"# {number}\n"}, f"change {number}"))
    return made


def asked(repository, *skipped):
    def ask(commit):
        if commit in skipped:
            return "skip"
        return "new" if "new" in git(repository, "show", f"{commit}:vllm_omni/__init__.py") else "old"

    return ask


def test_the_commit_at_which_an_answer_changes(repository, history):
    said = []
    search = Search(str(repository), "v0.21.0", "HEAD", asked(repository), lambda *each: said.append(each))
    assert search.run() == (history[6],)
    assert len(said) <= 4
    assert git(repository, "status", "--porcelain") == ""


def test_commits_that_cannot_be_asked_are_skipped(repository, history):
    found = Search(str(repository), "v0.21.0", "HEAD", asked(repository, history[2], history[4])).run()
    assert set(found) == {history[6], history[4], history[2]} or found == (history[6],)
    found = Search(str(repository), "v0.21.0", "HEAD", asked(repository, history[6])).run()
    assert {history[6], history[8]} <= set(found)


def test_a_change_outside_of_the_runner_is_found(repository):
    old = commit(repository, {"vllm_omni/models/a.py": "# 1\n", "vllm_omni/worker/a.py": ""})
    culprit = commit(repository, {"vllm_omni/models/a.py": "# new\n"})
    commit(repository, {"vllm_omni/worker/a.py": "# 1\n"})
    commit(repository, {"vllm_omni/models/a.py": "# new, too\n"})

    def ask(each):
        return "new" if "new" in git(repository, "show", f"{each}:vllm_omni/models/a.py") else "old"

    assert Search(str(repository), old, "HEAD", ask).run() == (culprit,)


def test_bisect_needs_two_ends_and_a_clause_that_there_is(repository, capsys):
    words = ["bisect", str(repository), "--good", "v0.21.0", "--bad"]
    assert main([*words, "nowhere"]) == 2
    assert "has no revision 'nowhere'" in capsys.readouterr().err
    assert main([*words, "HEAD", "--clause", "ROUTE-99"]) == 2
    assert "--clause 'ROUTE-99': there is FIELD-1" in capsys.readouterr().err


def test_a_tree_that_cannot_start_is_no_end(repository, capsys):
    tree(repository, {"worker/gpu_ar_model_runner.py": "def f(:\n"})
    commit(repository, {})
    assert main(["bisect", str(repository), "--good", "HEAD", "--bad", "v0.21.0"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "HEAD cannot be tested" in said
    assert "vllm_omni/worker/gpu_ar_model_runner.py:1: syntax error" in said


@pytest.mark.parametrize(
    "odd", ["", "-", "--", "-1", "\0", "\n", "@", "@{u}", ":/", "..", "HEAD:vllm_omni", "é", "9" * 30]
)
def test_whatever_is_typed_for_a_revision_ends_in_one_line(repository, odd, capsys):
    commit(tree(repository, {"worker/gpu_ar_model_runner.py": "def f(:\n"}), {})
    for words in (
        ["bisect", str(repository), "--good=HEAD", f"--bad={odd}"],
        ["probe", f"--vllm-omni=git+{odd}@{odd}"],
    ):
        assert main(words) in (2, 3)
        lines = capsys.readouterr().err.splitlines()
        assert lines[-1].startswith("phase-contract: ")
        assert "Traceback" not in "".join(lines)
