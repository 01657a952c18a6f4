"""What stops the import of a tree, as its source says it: before anything is started."""

import pytest
from trees import RUNNER, tree

from spec_examples.gate.cli import main
from spec_examples.targets import TargetBroken, resolve
from spec_examples.targets.reached import Tree


def broken(folder):
    return [str(each) for each in Tree(folder).broken]


def test_a_syntax_error(tmp_path):
    tree(tmp_path, {RUNNER: "from vllm_omni.worker import other\n", "worker/other.py": "x = 1\ndef f(:\n"})
    assert broken(tmp_path) == ["vllm_omni/worker/other.py:2: syntax error: invalid syntax"]


def test_a_merge_marker(tmp_path):
    tree(tmp_path, {RUNNER: "x = 1\n<<<<<<< HEAD\ny = 2\n=======\ny = 3\n>>>>>>> theirs\n"})
    assert broken(tmp_path) == [f"vllm_omni/{RUNNER}:2: a merge marker"]


def test_a_name_that_its_own_modules_lack(tmp_path):
    tree(tmp_path, {RUNNER: "import os\nfrom .base import Base, Gone\n", "worker/base.py": "class Base: ...\n"})
    assert broken(tmp_path) == [f"vllm_omni/{RUNNER}:2: vllm_omni.worker.base has no Gone"]
    tree(tmp_path, {RUNNER: "from vllm_omni.gone import Base\n"})
    assert broken(tmp_path) == [f"vllm_omni/{RUNNER}:1: the tree has no module vllm_omni.gone"]


@pytest.mark.parametrize(
    "base",
    [
        "from .other import *\n",
        "def __getattr__(name): ...\n",
        "globals()['Base'] = 1\n",
        "try:\n    import Base\nexcept ImportError:\n    Base = None\n",
        "for Base in (): ...\n",
        "with open('x') as Base: ...\n",
        "if (Base := 1): ...\n",
        "(Other, [Base]) = 1, [2]\n",
        "import os as Base\n",
    ],
)
def test_every_way_to_have_a_name_counts(tmp_path, base):
    tree(tmp_path, {RUNNER: "from .base import Base\n", "worker/base.py": base, "worker/other.py": "Base = 1\n"})
    assert broken(tmp_path) == []


def test_what_no_runner_imports_does_not_stop_it(tmp_path):
    lazy = (
        "def late():\n    from vllm_omni.bad import x\ntry:\n    from vllm_omni.bad import y\nexcept ImportError: ...\n"
    )
    tree(tmp_path, {RUNNER: lazy, "bad.py": "def f(:\n", "worker/unused.py": "<<<<<<< HEAD\n"})
    assert broken(tmp_path) == []


@pytest.mark.parametrize("patch", ["base.Gone = 1\n", "base.Gone: int = 1\n", 'setattr(base, "Gone", 1)\n'])
def test_a_name_that_another_module_may_set_is_left_to_the_import(tmp_path, patch):
    files = {RUNNER: "from .base import Gone\n", "worker/base.py": "", "__init__.py": patch}
    tree(tmp_path, files)
    assert broken(tmp_path) == []


def test_a_package_whose_folder_is_enough(tmp_path):
    tree(
        tmp_path,
        {RUNNER: "from vllm_omni.data import files\nfrom vllm_omni.worker import base\n", "worker/base.py": ""},
    )
    (tmp_path / "vllm_omni" / "data" / "files").mkdir(parents=True)
    assert broken(tmp_path) == []


def test_the_command_ends_with_three_in_one_line(tmp_path, capsys):
    tree(tmp_path, {RUNNER: "def f(:\n"})
    with pytest.raises(TargetBroken):
        resolve(str(tmp_path))
    for command in (
        ["probe"],
        ["row", "--prompt-len", "5", "--computed", "4", "--span", "1"],
        ["trace", "--request", "5"],
        ["matrix"],
    ):
        assert main([*command, "--vllm-omni", str(tmp_path)]) == 3
        said = capsys.readouterr().err.strip()
        assert said.endswith(f"does not start: vllm_omni/{RUNNER}:1: syntax error: invalid syntax")
        assert "\n" not in said
    assert main(["probe", "--bisect", "--vllm-omni", str(tmp_path)]) == 125
    assert main(["probe", "--bisect", "--vllm-omni", str(tmp_path / "no-such-folder")]) == 125
