"""vLLM-Omni's own talkers are checked again: what was recorded of them is what is found, or it is stale."""

from dataclasses import asdict

import pytest

from spec_examples.model_check.in_tree.found import TALKERS, digest, found, recorded
from spec_examples.targets import Session, resolve


@pytest.fixture(scope="module")
def session():
    with Session() as session:
        yield session


def test_the_record_is_of_this_check_and_of_the_installed_release(session):
    assert recorded()["digest"] == digest(), "run python -m spec_examples.model_check.in_tree.found"
    assert recorded()["vllm_omni"] == session.environment(resolve()).vllm_omni


@pytest.mark.parametrize("talker", TALKERS, ids=lambda talker: talker.name)
def test_what_was_recorded_is_found_again(session, talker):
    verdicts = [asdict(verdict) for verdict in found(session, resolve(), talker)]
    assert verdicts == recorded()["talkers"][talker.name]
