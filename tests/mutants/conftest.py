from collections.abc import Callable
from pathlib import Path

import pytest
from mutants.telling import telling

from spec_examples.mutants import Mutant, mutants_of, record
from spec_examples.mutants.catching import Hunt
from spec_examples.targets import Session, Target

CONTRACT = Path(__file__).parents[2] / "docs" / "contract"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of ``shared_defect`` or ``v2_defect`` is run for those that tell most; with ``--defects all`` for all."""
    for fixture, runner in (("shared_defect", "ar"), ("v2_defect", "v2")):
        if fixture in metafunc.fixturenames:
            chosen: Callable[[str], list[Mutant]] = CHOICES[metafunc.config.getoption("--defects")]
            metafunc.parametrize(fixture, chosen(runner), ids=lambda mutant: mutant.name)


def _telling(runner: str) -> list[Mutant]:
    (recorded,) = (each for each in record.read_all() if each.runner == runner)
    return telling(mutants_of(runner), recorded)


CHOICES = {"telling": _telling, "all": lambda runner: list(mutants_of(runner))}


def _hunt(session: Session, runner: str) -> Hunt:
    return Hunt(sorted(CONTRACT.glob("*.md")), session, Target(runner=runner))


@pytest.fixture(scope="session")
def shared_runner(session: Session) -> Hunt:
    return _hunt(session, "ar")


@pytest.fixture(scope="session")
def model_runner_v2(session: Session) -> Hunt:
    return _hunt(session, "v2")
