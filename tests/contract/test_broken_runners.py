"""A runner that keeps the contract is green on every clause; each way to break it turns its own clauses red."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest
import torch
from conforming_runner import Runner

from spec_examples.contract import JUDGES, judge
from spec_examples.trace import IS_PREFILL, PROMPT_LEN

RUNNERS = {
    "scalar": {"batched": False, "mtp": True},
    "batched": {"batched": True, "mtp": True},
    "scalar without MTP": {"batched": False, "mtp": False},
    "batched without MTP": {"batched": True, "mtp": False},
}


@pytest.mark.parametrize("planting", [True, False])
@pytest.mark.parametrize("offer", RUNNERS.values(), ids=RUNNERS)
def test_a_conforming_runner_is_green_on_everything_that_its_trace_shows(offer, planting):
    verdicts = {verdict.clause: verdict for verdict in judge(Runner(planting=planting, **offer).run())}
    assert list(verdicts) == list(JUDGES)
    assert not [verdict for verdict in verdicts.values() if verdict.outcome == "failed"]
    silent = {clause for clause, verdict in verdicts.items() if verdict.outcome == "not-applicable"}
    expected = set() if planting else {"FIELD-7"}
    expected |= set() if offer["batched"] else {"HOOK-2"}
    expected |= set() if offer["mtp"] else {"ROUTE-2", "ROUTE-4"}
    assert silent == expected


# FIELD-1 and FIELD-2: the numbers


class TheChunkForThePrompt(Runner):
    def prompt_len(self, row):
        return row.span


class PromptLengthOfNumpy(Runner):
    def prompt_len(self, row):
        return numpy.int32(row.prompt_len)


class PromptLengthAsText(Runner):
    def prompt_len(self, row):
        return str(row.prompt_len)


class PromptLengthMissing(Runner):
    def fields(self, row):
        return {key: value for key, value in super().fields(row).items() if key != PROMPT_LEN}


class ProgressAfterTheStep(Runner):
    def computed(self, row):
        return row.computed + row.span


class ProgressOfNumpy(Runner):
    def computed(self, row):
        return numpy.int32(row.computed)


class ProgressAsTensor(Runner):
    def computed(self, row):
        return torch.tensor(row.computed)


class ProgressAsFloat(Runner):
    def computed(self, row):
        return float(row.computed)


class ProgressAsBool(Runner):
    def computed(self, row):
        return bool(row.computed) if row.computed < 2 else row.computed


# FIELD-3: the flag


class SpanForPhase(Runner):
    """The old heuristic: more than one token is prefill."""

    def flag(self, row):
        return row.span > 1


class EqualityIsPrefill(Runner):
    def flag(self, row):
        return row.computed <= row.prompt_len


class DecodeOnlyAtEquality(Runner):
    def flag(self, row):
        return row.computed != row.prompt_len


class ComparedAfterTheStep(Runner):
    def flag(self, row):
        return row.computed + row.span < row.prompt_len


class FlagOfNumpy(Runner):
    def flag(self, row):
        return numpy.bool_(super().flag(row))


class FlagAsInt(Runner):
    def flag(self, row):
        return int(super().flag(row))


# FIELD-4 to FIELD-7: which step's, whose, which prompt's, whose word


class FieldsOfTheStepBefore(Runner):
    """The fields are written after the hook, so that it sees those of the request's previous row."""

    def fields(self, row):
        rows = [r for step in self.steps for r in step.rows if r.request == row.request]
        return super().fields(rows[-1] if rows else row)


class PlantedValuesWin(Runner):
    """``setdefault`` where an assignment was."""

    def fields(self, row):
        return super().fields(row) | self.state.get(row.request, {})


class PlantedFlagWins(Runner):
    def fields(self, row):
        kept = {k: v for k, v in self.state.get(row.request, {}).items() if k == IS_PREFILL}
        return super().fields(row) | kept


class ReversedFields(Runner):
    """Fields by a row index that no longer is the batch's."""

    def fields(self, row):
        return super().fields(self.step[-1 - self.step.index(row)])


class ProgressInOrderOfArrival(Runner):
    def computed(self, row):
        arrived = sorted(self.step, key=lambda r: r.request)
        return arrived[self.step.index(row)].computed


class ReversedRequests(Runner):
    """Fields and request agree, but stand with the tokens of another row."""

    def source(self, row):
        return self.step[-1 - self.step.index(row)]


class ShiftedTokens(Runner):
    """The slice of input ids is off by one."""

    def hook_row(self, row):
        tokens = [token for r in self.step for token in r.tokens] + [0]
        return replace(super().hook_row(row), input_ids=tuple(tokens[row.start + 1 : row.start + 1 + row.span]))


class PhaseLatched(Runner):
    """Once decode, always decode."""

    def flag(self, row):
        rows = [r for step in self.steps for r in step.rows if r.request == row.request]
        return super().flag(row) and not any(r.computed >= r.prompt_len for r in rows)


class PromptLengthLatched(Runner):
    def prompt_len(self, row):
        rows = [r for step in self.steps for r in step.rows if r.request == row.request]
        return rows[0].prompt_len if rows else row.prompt_len


class ProgressNeverFallsBack(Runner):
    def computed(self, row):
        rows = [r for step in self.steps for r in step.rows if r.request == row.request]
        return max([row.computed, *(r.computed + r.span for r in rows)])


# HOOK-1 and HOOK-2: the hooks


class FieldsInOneMapping(Runner):
    """The three arrive, in ``info``, and not as keywords."""

    def keywords(self, row, fields):
        return ("info", "request_id")


class FieldsForBatchedEntriesForgotten(Runner):
    def fields(self, row):
        return {} if self.batched and self.decodes_one(row) else super().fields(row)


class EntriesReversed(Runner):
    """``req_infos`` in another order than the input ids."""

    def source(self, row):
        entries = [r for r in self.step if self.decodes_one(r)]
        return entries[-1 - entries.index(row)] if self.decodes_one(row) else row


class EveryFieldForgotten(Runner):
    """As through 0.21.0rc1, with the guard."""

    def fields(self, row):
        return {}


# ROUTE-1: which hook


class TailsToTheBatchedHook(Runner):
    def hooks(self, row):
        return ("preprocess_decode_batch",) if self.batched and row.span == 1 else ("preprocess",)


class LongDecodeToTheBatchedHook(Runner):
    def hooks(self, row):
        decode = row.computed >= row.prompt_len
        return ("preprocess_decode_batch",) if self.batched and decode else ("preprocess",)


class BatchedHookForgotten(Runner):
    def hooks(self, row):
        return ("preprocess",)


class BatchedHookForSomeOnly(Runner):
    def hooks(self, row):
        return ("preprocess",) if row.request == "b" else super().hooks(row)


class BothHooks(Runner):
    def hooks(self, row):
        return ("preprocess", "preprocess_decode_batch") if self.batched and self.decodes_one(row) else ("preprocess",)


class TailWithoutHook(Runner):
    def hooks(self, row):
        return () if row.computed and row.computed < row.prompt_len else super().hooks(row)


# ROUTE-2 to ROUTE-5: MTP, the embeddings, the codes


class GuardOnTheSpanAlone(Runner):
    """As through 0.21.0rc1, with the fields."""

    def takes_mtp(self, row):
        return self.mtp and row.span == 1


class LikeTheOldReleases(GuardOnTheSpanAlone):
    def fields(self, row):
        return {}


class GuardOnThePhaseAlone(Runner):
    def takes_mtp(self, row):
        return self.mtp and row.computed >= row.prompt_len


class MtpOff(Runner):
    def takes_mtp(self, row):
        return False


class MtpForgetsTheLast(Runner):
    def mtp_call(self, given):
        return given[:-1] if len(given) > 1 else given


class MtpTwice(Runner):
    def mtp_call(self, given):
        return given + given[:1]


class HiddenStatesReversed(Runner):
    """The hidden states of the step's decode rows in another order than their embeddings."""

    def mtp_call(self, given):
        backwards = [values for _, values in reversed(given)]
        return [
            (row, (token, embeds, other[2], text))
            for (row, (token, embeds, _, text)), other in zip(given, backwards, strict=True)
        ]


class TextOfTheStepBefore(Runner):
    """A text step that is not copied before the call."""

    text: Any = None

    def mtp_call(self, given):
        stale, self.text = self.text, given[0][1][3] if given else self.text
        return [(row, (*values[:3], stale or values[3])) for row, values in given]


class InputIdsReversed(Runner):
    def mtp_call(self, given):
        ids = [values[0] for _, values in reversed(given)]
        return [(row, (token, *values[1:])) for (row, values), token in zip(given, ids, strict=True)]


class MtpKeptFromPrefill(Runner):
    """A prefill row's ``mtp_inputs`` are not popped, and reach MTP at the request's first decode row."""

    def __init__(self, **offer):
        super().__init__(**offer)
        self.kept: dict[str, Any] = {}

    def hook_row(self, row):
        offered = super().hook_row(row)
        if row.computed < row.prompt_len:
            self.kept[row.request] = (offered.hidden, offered.text)
        return offered

    def mtp_call(self, given):
        return [(row, (*values[:2], *self.kept.pop(row.request, values[2:]))) for row, values in given]


class MtpFromThePrefillNeighbour(Runner):
    """A decode row is given the hidden state of the prefill row beside it."""

    def run_mtp(self, forward, hooked):
        self.prefill = [hooked[row.request].hidden for row in self.step if row.computed < row.prompt_len]
        return super().run_mtp(forward, hooked)

    def mtp_call(self, given):
        return [(row, (*values[:2], self.prefill[0], values[3]) if self.prefill else values) for row, values in given]


class OffsetsByIndex(Runner):
    """MTP embeddings stand at the front of the step, as if each row had one token."""

    def place(self, forward, row, returned):
        forward[[r for r in self.step if self.takes_mtp(r)].index(row)] = returned


class OffsetsReversed(Runner):
    def place(self, forward, row, returned):
        taking = [r for r in self.step if self.takes_mtp(r)]
        forward[taking[-1 - taking.index(row)].start] = returned


class MtpEmbeddingDropped(Runner):
    def place(self, forward, row, returned):
        pass


class CodesReversed(Runner):
    def store(self, row, codes):
        taking = [r for r in self.step if self.takes_mtp(r)]
        super().store(taking[-1 - taking.index(row)], codes)


class CodesNotStored(Runner):
    def store(self, row, codes):
        pass


class CodesForTheWholeBatch(Runner):
    """The last row's codes are stored for every request of the step, prefill and long spans included."""

    def store(self, row, codes):
        self.codes |= {r.request: codes for r in self.step}


class CodesForWhoeverIsAlive(Runner):
    def store(self, row, codes):
        super().store(row, codes)
        if self.codes.get("z") is None or row.request == "b":
            self.codes["z"] = codes


class BufferForThePrompt(Runner):
    """What the hook returned for a prefill row is not copied."""

    def finish(self, forward, hooked):
        for row in self.step:
            if row.computed < row.prompt_len:
                forward[row.start] = (0.0, 0.0)


class PromptShifted(Runner):
    def finish(self, forward, hooked):
        for row in self.step:
            if row.computed < row.prompt_len and row.span > 1:
                forward[row.start] = forward[row.start + 1]


class PromptOfTheNeighbour(Runner):
    def finish(self, forward, hooked):
        prefill = [row for row in self.step if row.computed < row.prompt_len]
        if len(prefill) > 1:
            one, other = (row.start for row in prefill)
            forward[one], forward[other] = forward[other], forward[one]


class NothingAtForward(Runner):
    def finish(self, forward, hooked):
        forward.clear()


# STATE-1, STATE-2 and ROUTE-8: what a model stores, and the ids that it returns


class UpdatesDropped(Runner):
    def keep(self, row, update):
        pass


class UpdateOfTheFirstStepKept(Runner):
    def keep(self, row, update):
        if row.request not in self.stored:
            super().keep(row, update)


class UpdateStoredForTheNeighbour(Runner):
    """A prefill row's update goes to the first row of the step."""

    def keep(self, row, update):
        super().keep(self.step[0] if row.computed < row.prompt_len else row, update)


class ListExtended(Runner):
    def keep(self, row, update):
        before = self.stored.get(row.request, {}).get("noted", "")
        super().keep(row, {**update, "noted": f"{before} {update['noted']}"})


class StateForEveryone(Runner):
    """A mapping of defaults is filled where a copy was meant: what a request never wrote comes with its first call."""

    def give(self, row):
        return {**self.stored.get("defaults", {}), **super().give(row)}

    def keep(self, row, update):
        super().keep(row, update)
        self.stored["defaults"] = dict(update)


class IdsNotWritten(Runner):
    def write_ids(self, ids, row, returned):
        ids[row.start : row.start + row.span] = row.tokens


class IdsOfPrefillNotWritten(Runner):
    def write_ids(self, ids, row, returned):
        if row.computed >= row.prompt_len:
            super().write_ids(ids, row, returned)


class IdsAtRowNumber(Runner):
    def write_ids(self, ids, row, returned):
        at = self.step.index(row)
        ids[at : at + row.span] = returned


BOTH = ("scalar", "batched")
NUMBERS = {"FIELD-4", "FIELD-5", "FIELD-6"}
STATE = {"STATE-1", "STATE-2"}
FIELDS = {"FIELD-1", "FIELD-2", "FIELD-3", "FIELD-4", "FIELD-5", "FIELD-6"}

BREAKAGES: list[tuple[type[Runner], tuple[str, ...], set[str]]] = [
    (TheChunkForThePrompt, BOTH, {"FIELD-1"}),
    (PromptLengthOfNumpy, BOTH, {"FIELD-1"}),
    (PromptLengthAsText, BOTH, {"FIELD-1"}),
    (PromptLengthMissing, ("scalar",), NUMBERS | {"FIELD-1", "HOOK-1"}),
    (PromptLengthMissing, ("batched",), NUMBERS | {"FIELD-1", "HOOK-1", "HOOK-2"}),
    (ProgressAfterTheStep, BOTH, {"FIELD-2"}),
    (ProgressOfNumpy, BOTH, {"FIELD-2"}),
    (ProgressAsTensor, BOTH, {"FIELD-2"}),
    (ProgressAsFloat, BOTH, {"FIELD-2"}),
    (ProgressAsBool, BOTH, {"FIELD-2"}),
    # A flag that is wrong where it changes is also that of the step before: nothing says which of the two was meant.
    (SpanForPhase, ("scalar",), {"FIELD-3", "FIELD-4"}),
    (EqualityIsPrefill, ("scalar",), {"FIELD-3", "FIELD-4"}),
    (DecodeOnlyAtEquality, ("scalar",), {"FIELD-3", "FIELD-4"}),
    (ComparedAfterTheStep, ("scalar",), {"FIELD-3", "FIELD-4", "FIELD-6"}),
    (FlagOfNumpy, BOTH, {"FIELD-3"}),
    (FlagAsInt, BOTH, {"FIELD-3"}),
    # So it is with a number that is wrong, was true in an earlier step, and is true of another row.
    (FieldsOfTheStepBefore, ("scalar",), FIELDS),
    (ReversedFields, ("scalar",), FIELDS),
    (ProgressInOrderOfArrival, ("scalar",), {"FIELD-2", "FIELD-5"}),
    (ShiftedTokens, ("scalar",), {"FIELD-5"}),
    (PhaseLatched, BOTH, {"FIELD-3", "FIELD-4", "FIELD-6"}),
    (PromptLengthLatched, BOTH, {"FIELD-1", "FIELD-4", "FIELD-6"}),
    (ProgressNeverFallsBack, BOTH, {"FIELD-2", "FIELD-4", "FIELD-6"}),
    (FieldsInOneMapping, BOTH, {"HOOK-1"}),
    (FieldsForBatchedEntriesForgotten, ("batched",), FIELDS | {"HOOK-2"}),
    (EveryFieldForgotten, ("scalar",), FIELDS | {"HOOK-1"}),
    (EveryFieldForgotten, ("batched",), FIELDS | {"HOOK-1", "HOOK-2"}),
    (TailsToTheBatchedHook, ("batched", "batched without MTP"), {"HOOK-2", "ROUTE-1"}),
    (LongDecodeToTheBatchedHook, ("batched", "batched without MTP"), {"ROUTE-1"}),
    (BatchedHookForgotten, ("batched",), {"ROUTE-1"}),
    (BatchedHookForgotten, ("batched without MTP",), set()),  # the form through 0.30.0rc1
    (BatchedHookForSomeOnly, ("batched", "batched without MTP"), {"ROUTE-1"}),
    (BothHooks, ("batched",), {"ROUTE-1"}),
    (TailWithoutHook, ("scalar", "scalar without MTP"), {"ROUTE-1"}),
    (GuardOnTheSpanAlone, BOTH, {"ROUTE-2", "ROUTE-3"}),
    (LikeTheOldReleases, ("scalar",), FIELDS | {"HOOK-1", "ROUTE-2", "ROUTE-3"}),
    (GuardOnThePhaseAlone, BOTH, {"ROUTE-2", "ROUTE-5"}),
    (MtpOff, BOTH, {"ROUTE-2", "ROUTE-4"}),
    (MtpForgetsTheLast, BOTH, {"ROUTE-2", "ROUTE-4"}),
    (MtpTwice, BOTH, {"ROUTE-2"}),
    (HiddenStatesReversed, BOTH, {"ROUTE-4"}),
    (TextOfTheStepBefore, BOTH, {"ROUTE-4"}),
    (InputIdsReversed, BOTH, {"ROUTE-4"}),
    (MtpKeptFromPrefill, BOTH, {"ROUTE-3", "ROUTE-4"}),
    (MtpFromThePrefillNeighbour, BOTH, {"ROUTE-3", "ROUTE-4"}),
    (OffsetsByIndex, BOTH, {"ROUTE-3", "ROUTE-4", "ROUTE-5"}),
    (OffsetsReversed, BOTH, {"ROUTE-4"}),
    (MtpEmbeddingDropped, BOTH, {"ROUTE-4"}),
    (CodesReversed, BOTH, {"ROUTE-4"}),
    (CodesNotStored, BOTH, {"ROUTE-4"}),
    (CodesForTheWholeBatch, BOTH, {"ROUTE-3", "ROUTE-4", "ROUTE-5"}),
    (CodesForWhoeverIsAlive, BOTH, {"ROUTE-4"}),
    (BufferForThePrompt, (*BOTH, "scalar without MTP"), {"ROUTE-3"}),
    (PromptShifted, BOTH, {"ROUTE-3"}),
    (PromptOfTheNeighbour, BOTH, {"ROUTE-3"}),
    (NothingAtForward, BOTH, {"ROUTE-3", "ROUTE-4", "ROUTE-5"}),
    (UpdatesDropped, RUNNERS, {"STATE-1"}),
    (UpdateOfTheFirstStepKept, RUNNERS, {"STATE-1"}),
    (UpdateStoredForTheNeighbour, RUNNERS, STATE),
    (ListExtended, RUNNERS, {"STATE-1"}),
    (StateForEveryone, RUNNERS, {"STATE-2"}),
    (IdsNotWritten, RUNNERS, {"ROUTE-8"}),
    (IdsOfPrefillNotWritten, RUNNERS, {"ROUTE-8"}),
    (IdsAtRowNumber, RUNNERS, {"ROUTE-8"}),
    # What a hook is told of another row, it returns for that row: the result stands at the wrong one.
    (EntriesReversed, ("batched",), {"FIELD-5", "HOOK-2", *STATE, "ROUTE-4", "ROUTE-8"}),
    (ReversedRequests, ("scalar",), {"FIELD-5", *STATE, "ROUTE-2", "ROUTE-3", "ROUTE-4", "ROUTE-5", "ROUTE-8"}),
]

PLANTED: list[tuple[type[Runner], tuple[str, ...], set[str]]] = [
    (PlantedValuesWin, ("scalar",), FIELDS - {"FIELD-5"} | {"FIELD-7"}),
    (PlantedValuesWin, ("batched",), FIELDS - {"FIELD-5"} | {"FIELD-7"} | {"HOOK-2"}),
    (PlantedFlagWins, ("scalar",), {"FIELD-3", "FIELD-4", "FIELD-6", "FIELD-7"}),
]


def _cases(breakages):
    return [
        pytest.param(defect, offer, red, id=f"{defect.__name__}, {offer}")
        for defect, offers, red in breakages
        for offer in offers
    ]


@pytest.mark.parametrize(("defect", "offer", "red"), _cases(BREAKAGES))
@pytest.mark.clause("FIELD-*", "HOOK-[12]", "ROUTE-[1-5]")
def test_a_defect_turns_its_clauses_red(defect, offer, red):
    assert _failed(defect(**RUNNERS[offer])) == red


@pytest.mark.parametrize(("defect", "offer", "red"), _cases(PLANTED))
@pytest.mark.clause("FIELD-4", "FIELD-7")
def test_a_defect_that_believes_the_model_turns_its_clauses_red(defect, offer, red):
    assert _failed(defect(**RUNNERS[offer], planting=True)) == red


def test_every_promise_of_one_trace_has_a_defect_that_turns_it_red():
    assert set().union(*(red for *_, red in BREAKAGES + PLANTED)) == set(JUDGES)


def _failed(runner):
    return {verdict.clause for verdict in judge(runner.run()) if verdict.outcome == "failed"}
