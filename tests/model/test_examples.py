"""The small models: right ones keep every promise, and each wrong one breaks its own and no other."""

import pytest

from spec_examples.model_check.check import check
from spec_examples.model_check.examples.wrong import BREAKS
from spec_examples.model_check.promises import MODEL_PROMISES
from spec_examples.model_check.subject import named
from spec_examples.targets import Session, resolve

EXAMPLES = "spec_examples.model_check.examples"
RIGHT = [
    ("ar", "Right"),
    ("ar", "RightWithScalarHook"),
    ("ar", "RightWithoutMtp"),
    ("v2", "Right"),
    ("v2", "RightForV2"),
]


@pytest.fixture(scope="module")
def session():
    with Session() as session:
        yield session


@pytest.mark.parametrize(("runner", "model"), RIGHT)
def test_a_right_model_keeps_every_promise(session, runner, model):
    found = check(session, resolve(runner=runner), named(f"{EXAMPLES}.right:{model}"))
    assert not found.broken
    kept = {verdict.promise for verdict in found.verdicts if verdict.outcome == "passed"}
    batched = model in ("Right", "RightForV2")
    assert kept == set(MODEL_PROMISES) - (set() if batched else {"MODEL-4"})


@pytest.mark.parametrize("model", BREAKS)
@pytest.mark.parametrize("runner", ["ar", "v2"])
def test_a_wrong_model_breaks_its_own_promise_and_no_other(session, runner, model):
    found = check(session, resolve(runner=runner), named(f"{EXAMPLES}.wrong:{model}"), search=10)
    assert found.broken == BREAKS[model][runner]
    for verdict in found.verdicts:
        assert bool(verdict.run) == (verdict.outcome == "failed")


def test_every_promise_has_a_model_that_breaks_it():
    assert {promise for runners in BREAKS.values() for broken in runners.values() for promise in broken} == set(
        MODEL_PROMISES
    )


def test_what_shows_a_broken_promise_is_the_smallest_run(session):
    found = check(session, resolve(), named(f"{EXAMPLES}.wrong:OneTokenIsDecode"))
    (broken,) = [verdict for verdict in found.verdicts if verdict.outcome == "failed"]
    assert broken.run == "rows (1, 0, 1)"
