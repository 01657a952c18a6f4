"""What is read off a folder, without importing it."""

import importlib.util
from pathlib import Path

import pytest

from spec_examples.targets import TargetUnavailable
from spec_examples.targets.reading import read_runners
from spec_examples.trace import PHASE_KEYS

SHARED = """
from vllm.v1.worker.gpu_model_runner import GPUModelRunner

class OmniGPUModelRunner(GPUModelRunner):
    def _preprocess(self, output):
        for span_len, is_prefill in self.rows:
            self.infos["_omni_prompt_len"] = 1
            self.infos["_omni_num_computed_tokens"] = 1
            self.infos["_omni_is_prefill"] = is_prefill
            if span_len == 1 and not is_prefill:
                self.mtp_rows.append(span_len)

    def _talker_mtp_forward(self):
        pass
"""

NPU = """
if special:
    from vllm_ascend.special import Special as NPUModelRunner
else:
    from vllm_ascend.worker.model_runner_v1 import NPUModelRunner
from vllm_omni.worker.gpu_model_runner import OmniGPUModelRunner

class InheritingModelRunner(OmniGPUModelRunner, NPUModelRunner):
    pass

class OutsideFirstModelRunner(NPUModelRunner, OmniGPUModelRunner):
    pass

class ExtendingModelRunner(OmniGPUModelRunner):
    def _preprocess(self, output):
        return super()._preprocess(output)

class OwnModelRunner(OmniGPUModelRunner):
    def _preprocess(self, output):
        if span_len == 1:
            self.mtp_rows.append(span_len)

class AloneModelRunner(NPUModelRunner):
    pass
"""


@pytest.fixture
def small(tmp_path):
    for path, text in (("worker/gpu_model_runner.py", SHARED), ("platforms/npu/worker/npu_model_runner.py", NPU)):
        file = tmp_path / "vllm_omni" / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return tmp_path


def by_name(folder):
    return {runner.name: runner for runner in read_runners(folder)}


@pytest.mark.clause("OWN-1")
def test_the_producer(small):
    shared = by_name(small)["OmniGPUModelRunner"]
    assert (shared.platform, shared.preprocess.cls, shared.mtp.cls) == ("shared", shared.name, shared.name)
    assert shared.preprocess.line == 5
    assert shared.sets_all_keys
    assert shared.guarded
    assert [guard.text for guard in shared.guards] == ["span_len == 1 and (not is_prefill)"]
    assert not shared.inherits_preprocess


def test_a_class_that_inherits(small):
    found = by_name(small)["InheritingModelRunner"]
    assert (found.platform, found.bases) == ("npu", ("OmniGPUModelRunner", "NPUModelRunner"))
    assert found.inherits_preprocess
    assert found.sets_all_keys
    assert not found.outside


def test_a_class_of_another_package_that_comes_first_is_named(small):
    found = by_name(small)["OutsideFirstModelRunner"]
    assert found.outside == ("vllm_ascend.worker.model_runner_v1.NPUModelRunner",)
    assert found.preprocess.cls == "OmniGPUModelRunner"


def test_a_class_that_calls_super_keeps_what_that_does(small):
    found = by_name(small)["ExtendingModelRunner"]
    assert (found.preprocess.cls, [d.cls for d in found.extends]) == (found.name, ["OmniGPUModelRunner"])
    assert found.sets_all_keys
    assert found.guarded


@pytest.mark.clause("OWN-2")
def test_a_class_that_overrides_answers_for_itself(small):
    found = by_name(small)["OwnModelRunner"]
    assert (found.preprocess.cls, found.mtp.cls) == ("OwnModelRunner", "OmniGPUModelRunner")
    assert found.keys == ()
    assert not found.guarded


def test_a_class_without_any_definition_here(small):
    found = by_name(small)["AloneModelRunner"]
    assert (found.preprocess, found.mtp, found.keys, found.guards) == (None, None, (), ())


def test_the_installed_release():
    runners = by_name(Path(importlib.util.find_spec("vllm_omni").origin).parent.parent)
    for name in ("GPUARModelRunner", "GPUGenerationModelRunner", "NPUARModelRunner", "XPUARModelRunner"):
        assert runners[name].preprocess.cls == runners[name].mtp.cls == "OmniGPUModelRunner"
        assert set(runners[name].keys) == set(PHASE_KEYS)
        assert runners[name].guarded
    v2 = runners["OmniModelState"]
    assert (v2.platform, v2.sets_all_keys, v2.guarded) == ("v2", True, False)


def test_a_folder_without_vllm_omni(tmp_path):
    with pytest.raises(TargetUnavailable, match="contains no vllm_omni/"):
        read_runners(tmp_path)


def test_a_file_that_is_no_python_is_named(small):
    (small / "vllm_omni" / "worker" / "broken.py").write_text("class BrokenModelRunner(:\n")
    with pytest.raises(TargetUnavailable, match=r"broken\.py cannot be read: .*line 1"):
        read_runners(small)
