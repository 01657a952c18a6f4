"""Whose fault it is that a tree does not start. Small trees, with a vLLM of their own, stop before that."""

import os
import shutil
import sys

import pytest
from trees import tree, write

from spec_examples.gate.cli import main
from spec_examples.targets import Session, TargetBroken, TargetUnavailable, resolve
from spec_examples.targets.absent import HARMLESS, Finder, collect

pytestmark = pytest.mark.runner


def said(folder, kind=TargetUnavailable, **more):
    with Session() as session, pytest.raises(kind) as caught:
        session.environment(resolve(str(folder), **more))
    line = str(caught.value)
    assert "\n" not in line
    return line


def with_vllm(folder, **files):
    files = {"vllm/__init__.py": "__version__ = '0.0.1'\n", "vllm/a.py": "x = 1\n"} | files
    return write(folder, files)


def test_its_own_code(tmp_path):
    with_vllm(tree(tmp_path, {"__init__.py": "x = 1\ny = undefined\n"}))
    assert said(tmp_path, TargetBroken).endswith(
        "does not start: vllm_omni/__init__.py:2: NameError: name 'undefined' is not defined"
    )
    assert main(["probe", "--vllm-omni", str(tmp_path)]) == 3


def test_its_own_module_that_is_not_there(tmp_path):
    with_vllm(tree(tmp_path, {"__init__.py": "import importlib\nimportlib.import_module('vllm_omni.gone')\n"}))
    assert "vllm_omni/__init__.py:2: No module named 'vllm_omni.gone'" in said(tmp_path, TargetBroken)


def test_a_syntax_error_that_reading_does_not_reach(tmp_path):
    files = {"__init__.py": "import importlib\nimportlib.import_module('vllm_omni.bad')\n", "bad.py": "def f(:\n"}
    with_vllm(tree(tmp_path, files))
    assert "vllm_omni/bad.py:1: syntax error: invalid syntax" in said(tmp_path, TargetBroken)


def test_another_vllm_is_needed(tmp_path):
    with_vllm(tree(tmp_path, {"__init__.py": "from vllm.a import x\nfrom vllm.a import gone\n"}))
    line = said(tmp_path)
    assert "vllm_omni/__init__.py:2: cannot import name 'gone' from 'vllm.a'" in line
    assert "in vLLM 0.0.1: name one that has it with --vllm" in line
    assert main(["probe", "--vllm-omni", str(tmp_path)]) == 2


def test_a_vllm_that_has_an_attribute_no_more(tmp_path):
    with_vllm(tree(tmp_path, {"__init__.py": "import vllm.a\nvllm.a.gone\n"}))
    assert "does not import with vLLM 0.0.1: AttributeError: module 'vllm.a' has no attribute" in said(tmp_path)


def test_all_that_is_missing_is_listed_at_once(tmp_path):
    runner = "import no_such_b.deep\nfrom no_such_c import C\n@no_such_b.decorate(1)\nclass D(C): ...\n"
    files = {
        "__init__.py": "import no_such_a\nfrom vllm_omni.worker import gpu_ar_model_runner\n",
        "worker/gpu_ar_model_runner.py": runner,
        "worker/gpu_generation_model_runner.py": "import no_such_d\n",
    }
    with_vllm(tree(tmp_path, files))
    line = said(tmp_path)
    assert "does not import: no_such_a, no_such_b, no_such_c, no_such_d not installed here" in line
    assert line.endswith("; pip install no-such-a no-such-b no-such-c no-such-d")


def test_what_no_runner_uses_is_stood_in_for(tmp_path, monkeypatch):
    write(tmp_path, {"vllm_omni/__init__.py": ""})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm_omni", raising=False)
    assert "janus" in HARMLESS
    with pytest.raises(ModuleNotFoundError, match="vllm_omni_gone"):
        collect(lambda: __import__("vllm_omni.vllm_omni_gone"))
    assert Finder().find_spec("janus") is None


def test_the_vllm_that_is_named_comes_first(tmp_path):
    folder = with_vllm(tree(tmp_path / "omni", {"__init__.py": "import vllm\nraise NameError(vllm.__version__)\n"}))
    other = write(tmp_path / "other", {"vllm/__init__.py": "__version__ = '7'\n", "vllm_omni/__init__.py": "1 / 0\n"})
    assert "NameError: 0.0.1" in said(folder, TargetBroken)
    assert "NameError: 7" in said(folder, TargetBroken, vllm=str(other))


@pytest.mark.parametrize("name", ["with:colon", "with space", "b\u00fccher"])
def test_a_folder_whatever_it_is_called(tmp_path, name):
    folder = with_vllm(tree(tmp_path / name, {"__init__.py": "raise NameError('reached')\n"}))
    assert "vllm_omni/__init__.py:1: NameError: reached" in said(folder, TargetBroken)


def test_links(tmp_path):
    """The folder itself is a link, and the package in another one is."""
    with_vllm(tree(tmp_path / "real", {"__init__.py": "import vllm\nraise NameError('reached')\n"}))
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "made").mkdir()
    for package in ("vllm_omni", "vllm"):
        os.symlink(tmp_path / "real" / package, tmp_path / "made" / package)
    for folder in ("link", "made"):
        assert "vllm_omni/__init__.py:2: NameError: reached" in said(tmp_path / folder, TargetBroken)
    shutil.rmtree(tmp_path / "real" / "vllm_omni" / "__pycache__", ignore_errors=True)
