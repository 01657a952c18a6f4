"""Models without MTP, and the generation runner."""

import pytest

from spec_examples import Limits, Request, Row, rows, run
from spec_examples.contract.judge import judge, route_form
from spec_examples.running import put
from spec_examples.scenario import Scenario

pytestmark = pytest.mark.usefixtures("installed")


def violated(trace):
    return {verdict.clause: verdict.message for verdict in judge(trace) if verdict.outcome == "failed"}


@pytest.mark.parametrize("talker", ["scalar-no-mtp", "batched-no-mtp"])
@pytest.mark.clause("ROUTE-1")
def test_without_mtp_every_row_keeps_what_its_hook_returned(talker):
    trace = run(Row(5, 5, 1), Row(5, 4, 1), Row(5, 6, 1), talker=talker)
    assert not trace.mtp
    assert {row.embedding for row in rows(trace)} == {"preprocess"}
    assert violated(trace) == {}


@pytest.mark.clause("ROUTE-1")
def test_since_0_30_0_the_batched_hook_does_not_need_mtp():
    trace = run(Row(5, 5, 1), Row(5, 6, 1), talker="batched-no-mtp")
    assert route_form(trace) == "without talker_mtp"
    assert [len(call.rows) for call in trace.steps[0].hooks] == [2]


@pytest.mark.clause("ROUTE-1")
def test_through_0_22_0_it_did():
    trace = run(Row(5, 5, 1), Row(5, 6, 1), talker="batched-no-mtp", on="0.22.0")
    assert route_form(trace) == "needs talker_mtp"
    assert [call.hook for call in trace.steps[0].hooks] == ["preprocess", "preprocess"]


@pytest.mark.clause("OWN-1", "FIELD-1", "FIELD-2", "FIELD-3")
def test_the_generation_runner_passes_the_fields_and_inherits_the_producer():
    scenario = Scenario(requests=(Request(5), Request(1)), limits=Limits(budget=4))
    trace = put(scenario, runner="generation")

    assert trace.environment.preprocess_from == "OmniGPUModelRunner"
    assert [(row.request, row.computed, row.phase) for row in rows(trace)] == [
        ("a", 0, "prefill"),
        ("a", 4, "prefill"),
        ("b", 0, "prefill"),
    ]
    assert violated(trace) == {}


@pytest.mark.clause("ROUTE-3", "ROUTE-4")
@pytest.mark.parametrize("release", ["0.22.0", "0.30.0"])
@pytest.mark.parametrize(("decode", "taken"), [(1, 2), (2, 2), (3, 4)])
def test_a_captured_graph_takes_a_padded_batch_and_its_padding_goes_nowhere(decode, taken, release):
    batch = [Row(5, 5 + i, 1) for i in range(decode)]
    (step,) = run(
        *batch, Row(5, 0, 4, "prompt"), talker="spec_examples.variants:CapturedScalarTalker", on=release
    ).steps
    plain = run(*batch, Row(5, 0, 4, "prompt"), on=release).steps[0]

    assert [len(call) for call in step.mtp] == [taken]
    assert (step.codes, step.forward) == (plain.codes, plain.forward)
    assert len(step.codes) == decode


@pytest.mark.clause("ROUTE-3", "ROUTE-4")
def test_the_padding_may_hold_rows_of_requests_that_have_ended():
    requests = Request(2, 3), Request(2, 3), Request(2, 9)
    trace = run(*requests, talker="spec_examples.variants:CapturedBatchedTalker", limits=Limits(budget=9))
    alone = [step for step in trace.steps if len(step.rows) == 1]

    assert alone
    assert all(len(call) == 2 for step in alone for call in step.mtp)
    assert violated(trace) == {}


def test_a_model_without_mtp_may_declare_that_it_could_be_captured(tmp_path):
    file = tmp_path / "graph_safe.py"
    file.write_text(
        "from spec_examples.talker import ScalarTalkerWithoutMtp\n\n\n"
        "class GraphSafe(ScalarTalkerWithoutMtp):\n    talker_mtp_graph_safe = True\n"
    )
    trace = run(Request(3, 2), talker=f"{file}:GraphSafe")
    assert not trace.mtp
    assert {row.embedding for row in rows(trace)} == {"preprocess"}


@pytest.mark.clause("ROUTE-8")
def test_with_prompt_embeddings_enabled_forward_has_the_ids_of_the_hooks():
    usual, enabled = (
        run(Request(5), Request(2), limits=Limits(budget=4, prompt_embeds=each), on="0.30.0") for each in (False, True)
    )
    assert [step.input_ids for step in enabled.steps] == [step.input_ids for step in usual.steps]
    assert violated(enabled) == {}
