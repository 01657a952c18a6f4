"""Stand in for modules that a target imports and that are not installed. Inside a target's process only."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

HARMLESS = frozenset(
    {
        "aenum",  # names of diffusion pipelines
        "blake3",  # vLLM through 0.18 hashes multimodal items with it
        "diskcache",  # vLLM through 0.18 caches compiled grammars with it
        "janus",  # queues of vLLM-Omni's asynchronous front end
        "lmformatenforcer",  # a back end of structured output
        "msgpack",  # transfer between nodes
        "numba",  # vLLM's n-gram search; a scenario with drafts sets up its own
        "omegaconf",  # configuration files of stages
        "torchvision",  # images and video of models and pipelines
    }
)
"""Top-level modules that some target imports and none uses in what is run here: a stand-in does for them."""

PACKAGES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "google": "protobuf",
    "lmformatenforcer": "lm-format-enforcer",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""The package that brings a module, where their names differ."""


def package_of(module: str) -> str:
    """What pip calls the package that brings a top-level module."""
    return PACKAGES.get(module, module.replace("_", "-"))


class _Kind(type):
    """The class of every stand-in: any attribute of it is one more."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn


class StandIn(metaclass=_Kind):
    """A class, an instance or a decorator that does nothing: a decorated function stays as it is."""

    def __new__(cls, *given: Any, **_: Any) -> Any:
        """Return what is decorated, or an instance."""
        alone = len(given) == 1 and callable(given[0]) and cls is StandIn
        return given[0] if alone else super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *given: Any, **_: Any) -> Any:
        """Return what is decorated, or the instance itself."""
        return given[0] if len(given) == 1 and callable(given[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn


class _Module(ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn


class Finder:
    """Finds stand-ins for the top-level modules in ``names`` and all below them, where nothing else finds them.

    A library that only asks whether there is such a module is told that there is none.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The protocol of ``sys.meta_path``."""
        if name.partition(".")[0] not in self.names or _is_only_asked():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The protocol of a loader."""
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it is complete."""


def _numba() -> ModuleType:
    """The stand-in that drafting by n-grams runs on, which loops."""
    from spec_examples.targets import stand_ins

    return stand_ins._numba()


def _is_only_asked() -> bool:
    """Whether ``importlib.util.find_spec`` asks, rather than an import."""
    frame = sys._getframe(2)
    for _ in range(4):
        if frame.f_globals.get("__name__") == "importlib.util":
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def collect(step: Callable[[], None]) -> tuple[str, ...]:
    """Run ``step``, which imports, until nothing is missing that a stand-in could be found for.

    Returns the top-level modules that are missing and not harmless. What stops ``step`` otherwise is raised, unless
    something was missing: then a stand-in may have stopped it.
    """
    finder = Finder()
    sys.meta_path.append(finder)
    missing: list[str] = []
    while True:
        try:
            step()
            return tuple(missing)
        except ModuleNotFoundError as error:
            top = (error.name or "").partition(".")[0]
            if not top or top in ("vllm", "vllm_omni") or top in finder.names:
                if missing:
                    return tuple(missing)
                raise
            finder.names.add(top)
            if top == "numba":
                sys.modules[top] = _numba()
            if top not in HARMLESS:
                missing.append(top)
        except Exception:
            if missing:
                return tuple(missing)
            raise
