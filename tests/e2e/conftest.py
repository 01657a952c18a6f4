import importlib.util
import sys
from collections.abc import Iterator

import pytest

from spec_examples.real_model.experiments import Laboratory


@pytest.fixture(scope="session")
def laboratory(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    """The process that runs experiments; it says on the terminal what it has run, with times."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            sys.stderr.write(f"\n  {line}")
            sys.stderr.flush()

    with Laboratory(say) as laboratory:
        yield laboratory


@pytest.fixture(scope="session")
def real_models() -> None:
    """Skip where the environment imports no real talker."""
    if importlib.util.find_spec("torchaudio") is None:
        pytest.skip("no torchaudio here, which real talkers import; `make e2e` sets up what has it and runs this")


@pytest.fixture(scope="session")
def triton() -> None:
    """Skip where the environment has no Triton: the whole Model Runner V2 needs it."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip(
            "no Triton here, which the whole Model Runner V2 needs; `make e2e` sets up what has it and runs this"
        )
