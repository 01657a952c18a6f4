from collections.abc import Iterator

import pytest

from spec_examples.gate.pages_as_tests import shared_session
from spec_examples.running import Context, running
from spec_examples.targets import Session, Target


@pytest.fixture(scope="session")
def session() -> Session:
    """The session that pages and tests share: the installed runner is imported once."""
    return shared_session()


@pytest.fixture
def installed(session: Session) -> Iterator[Context]:
    """``run`` puts scenarios to the installed AR runner."""
    with running(Context(session, Target())) as context:
        yield context
