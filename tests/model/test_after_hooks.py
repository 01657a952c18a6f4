"""Models whose state moves in ``forward`` or ``make_omni_output`` too, or in a hook before all rows."""

TALKERS = """
import torch
from spec_examples.model_check.examples.right import Plain, embed


class SpeaksAfterForward(Plain):
    check_forward = True

    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.frames, self.rows = {}, []

    def preprocess(self, input_ids, input_embeds, **info):
        start, prompt_len = info["_omni_num_computed_tokens"], info["_omni_prompt_len"]
        end, request = start + input_ids.numel(), info["request_id"]
        if start == 0:
            self.frames[request] = 0
        if info["_omni_is_prefill"]:
            prompt = embed(range(100 + start, 100 + min(end, prompt_len)))
            return input_ids, torch.cat([prompt, embed(input_ids[len(prompt) :])]), {"met": True}
        return input_ids, embed([1000 + self.frames[request] + i for i in range(input_ids.numel())]), {}

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None, **rest):
        assert len(inputs_embeds) == len(input_ids) == len(positions)
        return 2 * inputs_embeds

    def make_omni_output(self, hidden, *, model_intermediate_buffer, request_token_spans, **rest):
        for info, (start, end) in zip(model_intermediate_buffer, request_token_spans, strict=True):
            value = float(hidden[end - 1, 0]) / 2
            self.frames[info["request_id"]] += self.moves(value)
        return hidden

    def moves(self, value):
        return int(value >= 1000)


class HasAttention(SpeaksAfterForward):
    check_forward = False

    def forward(self, *args, **rest):
        raise AssertionError("not on this machine")


class Resumed(SpeaksAfterForward):
    def preprocess(self, input_ids, input_embeds, **info):
        if info["_omni_is_prefill"] and input_ids.numel() > info["_omni_prompt_len"]:
            raise IndexError("no text left")
        return super().preprocess(input_ids, input_embeds, **info)


class SpeaksOnPrefill(SpeaksAfterForward):
    def moves(self, value):
        return 1


class EncodesFirst(SpeaksAfterForward):
    @staticmethod
    def check_information(request, prompt_len):
        return {"text": list(range(100, 100 + prompt_len))}

    def preprocess_batch(self, *, req_ids, model_intermediate_buffer, **rest):
        for request in req_ids:
            state = model_intermediate_buffer[request]
            state.setdefault("encoded", len(state["text"]))

    def preprocess(self, input_ids, input_embeds, **info):
        assert info["encoded"] == info["_omni_prompt_len"], "what an engine sent was of another prompt"
        return super().preprocess(input_ids, input_embeds, **info)
"""


def test_state_that_moves_after_forward_is_judged(ask):
    status, report, _ = ask("talkers.py:SpeaksAfterForward --search 0 --promise MODEL-3 --promise MODEL-7")
    assert (status, "2 kept, 0 broken" in report) == (0, True), report


def test_state_that_prefill_moves_there_is_found(ask):
    status, report, _ = ask("talkers.py:SpeaksOnPrefill --promise MODEL-3")
    assert status == 1
    assert "row a (6, 6, 1): the embedding that the hook returns differs by 2" in report


def test_forward_is_called_only_where_the_model_says_so(ask):
    assert ask("talkers.py:HasAttention --search 0 --promise MODEL-1")[0] == 0


def test_a_hook_before_all_rows_gets_what_was_sent_with_each_prompt(ask):
    status, report, _ = ask("talkers.py:EncodesFirst --search 0 --promise MODEL-1 --promise MODEL-7 --promise MODEL-5")
    assert (status, "3 kept, 0 broken" in report) == (0, True), report


def test_a_row_whose_hook_raises_is_named_with_what_it_raised(ask):
    _, report, _ = ask("talkers.py:Resumed --promise MODEL-6")
    assert "MODEL-6  BROKEN  row b (5, 0, 9) raised IndexError: no text left" in report
