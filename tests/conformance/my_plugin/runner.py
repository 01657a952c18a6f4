"""Model runners as a plugin would bring them: one that conforms, and some that are wrong on one clause each."""

from contextlib import contextmanager

import numpy as np
from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner


class MyModelRunner(GPUARModelRunner):
    """Keeps the shared preprocessing, and so the contract."""


class WrappedHook(GPUARModelRunner):
    """Stands between the shared preprocessing and the model's ``preprocess``."""

    def _preprocess(self, *arguments, **options):
        with replaced(self.model, "preprocess", self.between):
            return super()._preprocess(*arguments, **options)

    def between(self, hook, input_ids, input_embeds, **info):
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class NumpyLength(WrappedHook):
    """FIELD-1: takes the prompt's length from an array, so it is no ``int``."""

    def between(self, hook, input_ids, input_embeds, **info):
        info["_omni_prompt_len"] = np.int32(info["_omni_prompt_len"])
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class NumpyFlag(WrappedHook):
    """FIELD-3: compares in an array, so the flag is no ``bool``."""

    def between(self, hook, input_ids, input_embeds, **info):
        info["_omni_is_prefill"] = np.bool_(info["_omni_is_prefill"])
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class NumpyProgress(WrappedHook):
    """FIELD-2: takes progress from the batch's array, so it is no ``int``."""

    def between(self, hook, input_ids, input_embeds, **info):
        info["_omni_num_computed_tokens"] = np.int32(info["_omni_num_computed_tokens"])
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class OneStepLate(WrappedHook):
    """FIELD-4: hands each request the flag of its step before, as if it had been sent ahead."""

    def between(self, hook, input_ids, input_embeds, **info):
        sent = self.__dict__.setdefault("sent", {})
        now, request = info["_omni_is_prefill"], info["request_id"]
        info["_omni_is_prefill"], sent[request] = sent.get(request, now), now
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class NewestTokenFirst(WrappedHook):
    """FIELD-5: hands the ids of a span from the last to the first, so the fields stand with other tokens."""

    def between(self, hook, input_ids, input_embeds, **info):
        return hook(input_ids=input_ids.flip(0), input_embeds=input_embeds, **info)


class DecodeForEver(WrappedHook):
    """FIELD-6: keeps a request in decode once it has been there."""

    def between(self, hook, input_ids, input_embeds, **info):
        started = self.__dict__.setdefault("started", set())
        if not info["_omni_is_prefill"]:
            started.add(info["request_id"])
        info["_omni_is_prefill"] = info["request_id"] not in started
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class BelievesTheModel(WrappedHook):
    """FIELD-7: takes the progress that the model wrote for its own, and hands it out in the next step."""

    def between(self, hook, input_ids, input_embeds, **info):
        key, written = "_omni_num_computed_tokens", self.__dict__.setdefault("written", {})
        info[key] = written.pop(info["request_id"], info[key])
        ids, embeds, update = hook(input_ids=input_ids, input_embeds=input_embeds, **info)
        if key in update:
            written[info["request_id"]] = update[key]
        return ids, embeds, update


class ForgetsTheLength(WrappedHook):
    """HOOK-1: passes on two of the three keys."""

    def between(self, hook, input_ids, input_embeds, **info):
        del info["_omni_prompt_len"]
        return hook(input_ids=input_ids, input_embeds=input_embeds, **info)


class BatchAsPrefill(GPUARModelRunner):
    """HOOK-2: calls the entries of a batch prefill, for a hook that once embedded prompts."""

    def _preprocess(self, *arguments, **options):
        with replaced(self.model, "preprocess_decode_batch", self.batched):
            return super()._preprocess(*arguments, **options)

    def batched(self, hook, input_ids, _, req_infos):
        return hook(input_ids=input_ids, req_infos=[{**info, "_omni_is_prefill": True} for info in req_infos])


class ReplacesNestedState(GPUARModelRunner):
    """STATE-1: lets a nested update replace all that stood under its key, as ``dict.update`` does."""

    def _update_intermediate_buffer(self, req_id, upd):
        for key in [key for key, value in upd.items() if isinstance(value, dict)]:
            self.model_intermediate_buffer.get(req_id, {}).pop(key, None)
        super()._update_intermediate_buffer(req_id, upd)


class RemembersTheEnded(GPUARModelRunner):
    """STATE-2: keeps the state of ended requests, to go on with a conversation that has the same identifier."""

    def _update_states(self, scheduled):
        ended = {each: self.model_intermediate_buffer.get(each, {}) for each in scheduled.finished_req_ids}
        result = super()._update_states(scheduled)
        self.model_intermediate_buffer.update(ended)
        return result


class ScalarWhenMixed(GPUARModelRunner):
    """ROUTE-1: uses the batched hook only in steps without prefill."""

    def _preprocess(self, *arguments, **options):
        if not any(is_prefill for _, _, is_prefill in spans(self, arguments[0])):
            return super()._preprocess(*arguments, **options)
        with replaced(self.model, "preprocess_decode_batch", None):
            return super()._preprocess(*arguments, **options)


class TouchesPrompt(GPUARModelRunner):
    """ROUTE-3: scales the embeddings of the prompt after the hook returned them."""

    def _preprocess(self, *arguments, **options):
        result = super()._preprocess(*arguments, **options)
        for start, span, is_prefill in spans(self, arguments[0]):
            if is_prefill:
                result[1][start : start + span] *= 2
        return result


class TouchesLongSpans(GPUARModelRunner):
    """ROUTE-5: writes over the last embedding of a decode span of several tokens."""

    def _preprocess(self, *arguments, **options):
        result = super()._preprocess(*arguments, **options)
        for start, span, is_prefill in spans(self, arguments[0]):
            if span > 1 and not is_prefill:
                result[1][start + span - 1] = 2
        return result


class MtpAtTheWrongOffset(GPUARModelRunner):
    """ROUTE-4: hands MTP the offsets of its rows in the wrong order."""

    def _talker_mtp_forward(self, decode_req_ids, inputs_embeds, start_offsets=None):
        offsets = start_offsets[::-1] if start_offsets else start_offsets
        return super()._talker_mtp_forward(decode_req_ids, inputs_embeds, offsets)


class MtpTwice(GPUARModelRunner):
    """ROUTE-2: runs MTP a second time, to warm up, and uses what came last."""

    def _talker_mtp_forward(self, *arguments, **options):
        super()._talker_mtp_forward(*arguments, **options)
        return super()._talker_mtp_forward(*arguments, **options)


class ScalesTheBatch(GPUARModelRunner):
    """ROUTE-6: scales what a batched hook returned, and leaves what the other one did."""

    def _preprocess(self, *arguments, **options):
        result = super()._preprocess(*arguments, **options)
        if callable(getattr(self.model, "preprocess_decode_batch", None)) and not self.has_talker_mtp:
            for start, span, is_prefill in spans(self, arguments[0]):
                if span == 1 and not is_prefill:
                    result[1][start] *= 0.5
        return result


class KeepsTheSchedulersIds(GPUARModelRunner):
    """ROUTE-8: hands ``forward`` the ids that the scheduler gave, whatever the hooks returned."""

    def _preprocess(self, *arguments, **options):
        scheduled = self.input_ids.gpu.clone()
        result = super()._preprocess(*arguments, **options)
        if result[0] is not None:
            result[0].copy_(scheduled[: len(result[0])])
        return result


def spans(runner, scheduled):
    """First token, tokens, and whether it is prefill, for each row of the batch."""
    start = 0
    for index, request in enumerate(runner.input_batch.req_ids):
        span = scheduled.num_scheduled_tokens[request]
        computed = runner.input_batch.num_computed_tokens_cpu[index]
        yield start, span, computed < len(runner.requests[request].prompt_token_ids)
        start += span


@contextmanager
def replaced(model, name, between):
    """Meanwhile, calls of the model's hook go through ``between``; without it, the model has no such hook."""
    hook = getattr(model, name, None)
    if hook is None:  # a model without it keeps none
        yield
        return
    setattr(model, name, between and (lambda *given, **info: call(hook, between, *given, **info)))
    try:
        yield
    finally:
        delattr(model, name)


def call(hook, between, input_ids, input_embeds=None, **info):
    return between(hook, input_ids, input_embeds, **info)
