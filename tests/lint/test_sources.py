"""What is read, and what a file or folder that cannot be read is told: one line, with what would be right."""

import subprocess
import sys
from pathlib import Path

import pytest
from small_models import hook

from spec_examples.lint import BadSource, lint_paths

WRONG = hook("if input_ids.numel() > 1:\n    return 1, 2, {}\nreturn 3, 4, {}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"def (:\n", "model.py:1:5: not Python: "),
        (b"x = 1\n  y = 2\n", "model.py:2:2: not Python: "),
        (b"x = '\xff'\n", "model.py:1:1: not UTF-8 text; save it as UTF-8, or declare its encoding"),
        (b"\n\nx = '\xff'\n", "model.py:3:1: not UTF-8 text; "),
        (b"# coding: klingon\n", "model.py:1:1: unknown encoding"),
        (b"x = \x00\n", "model.py:1:1: not Python: "),
        (b"x = " + b"(" * 5_000 + b")" * 5_000, "not Python: "),
    ],
)
def test_what_is_not_python(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "model.py"
    file.write_bytes(content)
    (line,) = lint_paths([str(file)]).unreadable
    assert said in line
    assert "\n" not in line


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match=r"missing\.py: no such file or folder"):
        lint_paths([str(tmp_path / "missing.py")])
    with pytest.raises(BadSource, match="a folder without Python files"):
        lint_paths([str(tmp_path)])
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadSource, match="no such file or folder"):
        lint_paths([str(tmp_path / "loop")])


def test_a_folder_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hidden").mkdir()
    for place in ("model.py", "inner/model.py", ".hidden/model.py"):
        (tmp_path / place).write_text(WRONG)
    (tmp_path / "notes.txt").write_text("no Python at all")
    (tmp_path / "other.py").write_text("x = 1\n")
    report = lint_paths([str(tmp_path)])
    assert (report.files, report.hooks) == (3, 2)
    assert [finding.path for finding in report.findings] == [f"{tmp_path}/inner/model.py", f"{tmp_path}/model.py"]
    again = lint_paths([str(tmp_path), str(tmp_path / "model.py")])
    assert len(again.findings) == 2, "each file once"


def test_an_encoding_that_is_declared(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_bytes(b"# coding: latin-1\nname = '\xe9'\n" + WRONG.encode())
    assert [finding.rule for finding in lint_paths([str(file)]).findings] == ["PHASE001"]


def test_a_mark_at_the_start_and_other_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_bytes(b"\xef\xbb\xbf" + WRONG.replace("\n", "\r\n").encode())
    assert [finding.place.line for finding in lint_paths([str(file)]).findings] == [3]


def test_nothing_is_imported(tmp_path: Path) -> None:
    """Neither what is read, nor torch, nor vLLM."""
    (tmp_path / "model.py").write_text("raise SystemExit('imported')\n" + WRONG)
    code = "import sys; from spec_examples.lint import lint_paths; print(len(lint_paths(sys.argv[1:]).findings));"
    code += "print(*sorted({'torch', 'vllm', 'vllm_omni', 'model'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
