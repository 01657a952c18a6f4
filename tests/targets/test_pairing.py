"""Which vLLM a tree goes with: names decide, then what its files say. Small vLLMs stand for the published ones."""

import pytest
from trees import RUNNER, tree, write

from spec_examples.targets import TargetUnavailable, pairing, vllm_names
from spec_examples.targets.catalogue import vllms

VLLMS = {
    "0.20.2": {"vllm/v1/outputs.py": "class Old: ...\nclass Both: ...\n"},
    "0.21.0": {"vllm/v1/outputs.py": "class Both: ...\n", "vllm/v1/new.py": "def made(): ...\n"},
    "0.22.1": {"vllm/v1/outputs.py": "class Both: ...\nclass Later: ...\n", "vllm/v1/new.py": "made = 1\n"},
}


@pytest.fixture(autouse=True)
def index(tmp_path, monkeypatch):
    """An index of these three, which has been written and read."""
    sources = {v: vllm_names.read_source(write(tmp_path / v, files)) for v, files in VLLMS.items()}
    made = vllm_names.build(sources)
    monkeypatch.setattr(vllm_names, "index", lambda: made)
    return made


def choose(tmp_path, runner, installed=None, tag="", **beside):
    return pairing.choose(tree(tmp_path / "tree", {RUNNER: runner}, **beside), installed, tag)


def test_the_only_one_with_every_name(tmp_path):
    assert choose(tmp_path, "from vllm.v1.outputs import Old, Both\n").version == "0.20.2"
    found = choose(tmp_path, "from vllm.v1.outputs import Later\n", installed="0.20.2", tag="v0.21.0")
    assert found == pairing.Pairing("0.22.1", "the only one that fits", ("0.22.1",))


def test_a_recipe_decides_between_several(tmp_path):
    both = "from vllm.v1.outputs import Both\nfrom vllm.v1.new import made\n"
    found = choose(tmp_path, both, Dockerfile="FROM vllm/vllm-openai:v0.21.0\n")
    assert (found.version, found.why, found.fitting) == ("0.21.0", "Dockerfile", ("0.21.0", "0.22.1"))


def test_a_recipe_that_lags_gives_the_nearest(tmp_path):
    both = "from vllm.v1.new import made\n"
    found = choose(tmp_path, both, requirements_txt="vllm==0.20.0\n")
    assert (found.version, found.why) == ("0.21.0", "the nearest to 0.20.0, which requirements.txt names")


def test_a_requirement_outranks_a_recipe_and_that_the_tag(tmp_path):
    both = "from vllm.v1.outputs import Both\n"
    said = {"pyproject_toml": 'dependencies = ["vllm==0.21.*"]\n', "Dockerfile": "ARG VLLM_VERSION=v0.20.1\n"}
    assert choose(tmp_path, both, tag="v0.22.0", **said).version == "0.21.0"
    (tmp_path / "tree" / "pyproject.toml").unlink()
    assert choose(tmp_path, both, tag="v0.22.0").version == "0.20.2"
    (tmp_path / "tree" / "Dockerfile").unlink()
    assert choose(tmp_path, both, tag="v0.22.0").why == "the tag v0.22.0"


def test_the_installed_one_where_nothing_says_otherwise(tmp_path):
    both = "from vllm.v1.outputs import Both\n"
    assert choose(tmp_path, both, installed="0.21.3").version == "0.21.0"
    assert choose(tmp_path, both, installed="0.19.0").why == "the newest that fits"
    assert choose(tmp_path, both).version == "0.22.1"


def test_imports_that_need_not_succeed_decide_nothing(tmp_path):
    runner = (
        "from typing import TYPE_CHECKING\n"
        "from vllm.v1.outputs import Later\n"
        "try:\n    from vllm.v1.outputs import Old\nexcept ImportError:\n    Old = None\n"
        "if TYPE_CHECKING:\n    from vllm.v1.never import Never\n"
        "def late():\n    from vllm.v1.never import Never\n"
    )
    assert choose(tmp_path, runner).version == "0.22.1"


def test_what_no_runner_imports_tells_too_but_refuses_nothing(tmp_path):
    both = "from vllm.v1.outputs import Both\n"
    tree(tmp_path / "tree", {"engine/front.py": "from vllm.v1.outputs import Old\n"})
    assert choose(tmp_path, both).version == "0.20.2"
    tree(tmp_path / "tree", {"engine/front.py": "from vllm.v1.never import Never\n"})
    assert choose(tmp_path, both).version == "0.22.1"


def test_none_has_every_name(tmp_path):
    with pytest.raises(TargetUnavailable) as caught:
        choose(tmp_path, "from vllm.v1.outputs import Later, A, B, C\nimport vllm.v2\n")
    line = str(caught.value)
    assert line.startswith(
        "no published vLLM has every name that this tree imports: vLLM 0.22.1, the nearest, lacks 4 "
    )
    assert "(vllm.v1.outputs.A, vllm.v1.outputs.B, vllm.v1.outputs.C, …)" in line
    assert "--vllm PATH" in line


def test_a_module_that_may_have_any_name_has_every_name(tmp_path):
    source = vllm_names.read_source(write(tmp_path / "any", {"vllm/lazy.py": "def __getattr__(name): ...\n"}))
    made = vllm_names.build({"0.1.0": source})
    assert made.has("0.1.0", "vllm.lazy", "whatever")
    assert made.has("0.1.0", "vllm", "lazy")
    assert not made.has("0.1.0", "vllm.other", "")


def test_a_version_can_be_added_to_an_index(index):
    assert vllm_names.build(vllm_names.sources(index)) == index
    older = {version: names for version, names in vllm_names.sources(index).items() if version != "0.22.1"}
    newest = {"0.22.1": vllm_names.sources(index)["0.22.1"]}
    assert vllm_names.build(vllm_names.sources(vllm_names.build(older)) | newest) == index


def test_an_index_survives_its_file(tmp_path, index):
    vllm_names.write(index, tmp_path / "index.gz")
    first = (tmp_path / "index.gz").read_bytes()
    vllm_names.write(index, tmp_path / "index.gz")
    assert (tmp_path / "index.gz").read_bytes() == first


def test_the_index_that_is_shipped_has_the_vllms_of_the_catalogue(monkeypatch):
    monkeypatch.undo()
    shipped = vllm_names.index()
    assert shipped.versions == tuple(vllm.version for vllm in vllms())
    assert shipped.has("0.30.0", "vllm.v1.worker.gpu_model_runner", "GPUModelRunner")
    assert not shipped.has("0.20.2", "vllm.v1.worker.gpu_model_runner", "NoSuchRunner")
    assert vllm_names.INDEX.stat().st_size < 300_000


def runner_of(base):
    return f"class Base:\n    def own(self): ...\n{base}"


CALLED = {
    "0.20.2": runner_of("    def prepare(self, rows): return 1, 2\n"),
    "0.21.0": runner_of("    def prepare(self, rows, drafts): return 1, 2\n"),
    "0.22.1": runner_of("    def prepare(self, rows, drafts): return 1, 2, 3\n    def later(self, **more): ...\n"),
}


@pytest.mark.parametrize(
    ("call", "fitting"),
    [
        ("a, b = self.prepare(1)", ("0.20.2", "0.21.0")),
        ("a, b, c = super().prepare(1)", ("0.22.1",)),
        ("self.prepare(1, drafts=2)", ("0.21.0", "0.22.1")),
        ("self.later(whatever=1)", ("0.22.1",)),
        ("self.mine(1); self.from_elsewhere(2); self.held(3)", ("0.20.2", "0.21.0", "0.22.1")),
        ("a, *b = self.prepare(1)", ("0.20.2", "0.21.0", "0.22.1")),
    ],
)
def test_how_inherited_methods_are_called_tells_too(tmp_path, monkeypatch, call, fitting):
    sources = {
        version: vllm_names.read_source(write(tmp_path / version, {"vllm/v1/worker/base.py": text}))
        for version, text in CALLED.items()
    }
    made = vllm_names.build(sources)
    monkeypatch.setattr(vllm_names, "index", lambda: made)
    runner = (
        "from vllm.v1.worker.base import Base\n"
        "class Runner(Base):\n"
        "    def mine(self, rows): self.held = print\n"
        f"    def run(self):\n        {call}\n"
    )
    assert choose(tmp_path, runner).fitting == fitting
