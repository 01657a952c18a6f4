from pathlib import Path

import pytest

from spec_examples.mutants.catching import Hunt
from spec_examples.targets import Session, Target

CONTRACT = Path(__file__).parents[2] / "docs" / "contract"


def _hunt(session: Session, runner: str) -> Hunt:
    hunt = Hunt(sorted(CONTRACT.glob("*.md")), session, Target(runner=runner))
    hunt.run_control()
    return hunt


@pytest.fixture(scope="session")
def shared_runner(session: Session) -> Hunt:
    return _hunt(session, "ar")


@pytest.fixture(scope="session")
def model_runner_v2(session: Session) -> Hunt:
    return _hunt(session, "v2")
