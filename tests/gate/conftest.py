import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def runner_copy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``runner_copy((old, new), …)``: a folder with the installed ``vllm_omni`` whose runner was edited."""
    import importlib.util

    installed = Path(importlib.util.find_spec("vllm_omni").origin).parent

    def copy(*edits: tuple[str, str]) -> Path:
        folder = tmp_path_factory.mktemp("checkout")
        shutil.copytree(installed, folder / "vllm_omni", copy_function=os.link)
        source = folder / "vllm_omni/worker/gpu_model_runner.py"
        text = source.read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, f"{old!r} is in the runner {text.count(old)} times"
            text = text.replace(old, new)
        source.unlink()
        source.write_text(text, encoding="utf-8")
        return folder

    return copy
