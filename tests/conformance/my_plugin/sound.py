"""Model runners that keep the contract, each with a freedom that the contract leaves to a runner."""

import torch

from my_plugin.runner import MyModelRunner, replaced


class OneByOne(MyModelRunner):
    """Calls the batched hook for one row at a time."""

    def _preprocess(self, *arguments, **options):
        if not callable(getattr(self.model, "preprocess_decode_batch", None)):
            return super()._preprocess(*arguments, **options)
        with replaced(self.model, "preprocess_decode_batch", self.each):
            return super()._preprocess(*arguments, **options)

    def each(self, hook, input_ids, _, req_infos):
        found = [owned(hook(input_ids=input_ids[n : n + 1], req_infos=[info])) for n, info in enumerate(req_infos)]
        *tensors, updates = zip(*found, strict=True)
        return *(torch.cat(parts) for parts in tensors), [update for (update,) in updates]


class ForgetsThePreempted(MyModelRunner):
    """Begins anew with the state of a request that comes back after a preemption."""

    def _update_states(self, scheduled):
        for request in scheduled.scheduled_cached_reqs.resumed_req_ids:
            self.model_intermediate_buffer.pop(request, None)
        return super()._update_states(scheduled)


class IgnoresSeeds(MyModelRunner):
    """Hands MTP no seeds."""

    def _talker_mtp_forward(self, decode_req_ids, *arguments, **options):
        for request in decode_req_ids:
            params = self.requests[request].sampling_params
            params.extra_args = {k: v for k, v in (params.extra_args or {}).items() if k != "tts_local_seed"}
        return super()._talker_mtp_forward(decode_req_ids, *arguments, **options)


class OtherName(MyModelRunner):
    """Passes the request as ``req_id``."""

    def _preprocess(self, *arguments, **options):
        with (
            replaced(self.model, "preprocess", self.renamed),
            replaced(self.model, "preprocess_decode_batch", self.all_renamed),
        ):
            return super()._preprocess(*arguments, **options)

    def renamed(self, hook, input_ids, input_embeds, **info):
        return hook(input_ids=input_ids, input_embeds=input_embeds, **with_req_id(info))

    def all_renamed(self, hook, input_ids, _, req_infos):
        return hook(input_ids=input_ids, req_infos=[with_req_id(info) for info in req_infos])


def owned(result):
    """What a batched hook returned, without the buffers that the model may fill again."""
    *tensors, updates = result
    return *(each.clone() for each in tensors), updates


def with_req_id(info):
    return {"req_id" if key == "request_id" else key: value for key, value in info.items()}
