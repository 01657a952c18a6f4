"""Small trees of vLLM-Omni and small vLLMs, as sources in folders."""

from pathlib import Path

RUNNER = "worker/gpu_ar_model_runner.py"


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write each file by its path below ``folder``, packages included."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for parent in path.relative_to(folder).parents:
            if name.endswith(".py") and str(parent) != "." and not (folder / parent / "__init__.py").exists():
                (folder / parent / "__init__.py").touch()
    return folder


def tree(folder: Path, files: dict[str, str], **beside: str) -> Path:
    """A tree whose ``vllm_omni`` has these files; ``beside`` are files next to it, by names with ``_`` for ``.``."""
    write(folder, {f"vllm_omni/{name}": text for name, text in ({"__init__.py": ""} | files).items()})
    return write(folder, {name.replace("_", "."): text for name, text in beside.items()})
