"""Defects of the shared runner: edits of ``OmniGPUModelRunner._preprocess`` and of what it calls.

The shapes are those of 0.22.0 to 0.32.0rc1. Where a release words a construct differently, the defect is reported as
one that does not apply there.
"""

from __future__ import annotations

from spec_examples.mutants.mutant import Edit, Mutant


def defect(
    name: str,
    what: str,
    clauses: str,
    *edits: tuple[str, str],
    method: str = "_preprocess",
    otherwise: tuple[tuple[str, str], ...] = (),
    since: str = "",
) -> Mutant:
    """A defect of the shared runner; ``otherwise`` are its edits where a release words the construct in another way."""
    other = (tuple(Edit(*edit) for edit in otherwise),) if otherwise else ()
    return Mutant(
        name,
        what,
        tuple(clauses.split()),
        method,
        tuple(Edit(*edit) for edit in edits),
        otherwise=other,
        since=since,
    )


_PROMPT_LEN = "prompt_len = len(prompt_token_ids or ())"
_PROGRESS = "num_computed_tokens = int(self.input_batch.num_computed_tokens_cpu[req_index])"
_PHASE = "is_prefill = num_computed_tokens < prompt_len"
_SET_PROMPT_LEN = 'req_infos["_omni_prompt_len"] = prompt_len'
_SET_PROGRESS = 'req_infos["_omni_num_computed_tokens"] = num_computed_tokens'
_SET_FLAG = 'req_infos["_omni_is_prefill"] = is_prefill'
_STATE = "req_state = self.requests.get(req_id)\nreq_infos = A"
_INFOS = "req_infos = self.model_intermediate_buffer.get(req_id, {})"
_ROWS = "for req_index, req_id in enumerate(self.input_batch.req_ids):\n    ..."
_IS_NEW = "any(new.req_id == req_id for new in scheduler_output.scheduled_new_reqs)"


def kept(name: str) -> str:
    """A mapping by request that lives as long as the runner."""
    return f"self.__dict__.setdefault('_kept_{name}', {{}})"


PROMPT_LENGTH = (
    defect(
        "prompt-len-total",
        "took the length of the whole sequence, generated tokens included, for the prompt length",
        "FIELD-1 FIELD-3",
        (_PROMPT_LEN, "prompt_len = req_state.num_tokens"),
    ),
    defect(
        "prompt-len-scheduled",
        "passed the part of the prompt that has been scheduled so far",
        "FIELD-1",
        (_SET_PROMPT_LEN, 'req_infos["_omni_prompt_len"] = min(prompt_len, num_computed_tokens + span_len)'),
    ),
    defect(
        "prompt-len-chunk",
        "passed the length of the chunk",
        "FIELD-1",
        (_SET_PROMPT_LEN, 'req_infos["_omni_prompt_len"] = span_len'),
    ),
    defect(
        "prompt-len-without-first-token",
        "left a begin-of-sequence token out of the prompt length",
        "FIELD-1 FIELD-3",
        (_PROMPT_LEN, "prompt_len = max(0, len(prompt_token_ids or ()) - 1)"),
    ),
    defect(
        "prompt-len-numpy",
        "read the prompt length from an array and passed numpy's integer on",
        "FIELD-1",
        (_SET_PROMPT_LEN, 'req_infos["_omni_prompt_len"] = np.int64(prompt_len)'),
    ),
    defect(
        "prompt-len-float",
        "computed the prompt length with a true division",
        "FIELD-1",
        (_SET_PROMPT_LEN, 'req_infos["_omni_prompt_len"] = prompt_len / 1'),
    ),
    defect(
        "prompt-len-text",
        "serialised the prompt length for a payload",
        "FIELD-1",
        (_SET_PROMPT_LEN, 'req_infos["_omni_prompt_len"] = str(prompt_len)'),
    ),
    defect(
        "prompt-len-capped-by-progress",
        "let the prompt length grow with progress, so that progress never passes it",
        "FIELD-1",
        (_SET_PROMPT_LEN, 'req_infos["_omni_prompt_len"] = max(prompt_len, num_computed_tokens)'),
    ),
)

PROGRESS = (
    defect(
        "progress-after-span",
        "passed the progress that holds after the step",
        "FIELD-2",
        (_SET_PROGRESS, 'req_infos["_omni_num_computed_tokens"] = num_computed_tokens + span_len'),
    ),
    defect(
        "progress-numpy",
        "dropped int() around an element of the batch's array",
        "FIELD-2 FIELD-3",
        (_PROGRESS, "num_computed_tokens = self.input_batch.num_computed_tokens_cpu[req_index]"),
    ),
    defect(
        "progress-float",
        "passed progress as a float",
        "FIELD-2",
        (_SET_PROGRESS, 'req_infos["_omni_num_computed_tokens"] = float(num_computed_tokens)'),
    ),
    defect(
        "progress-last-index",
        "passed the index of the last computed token for their number",
        "FIELD-2",
        (_SET_PROGRESS, 'req_infos["_omni_num_computed_tokens"] = max(0, num_computed_tokens - 1)'),
    ),
    defect(
        "progress-without-cached-prefix",
        "started every new request at zero, a cached prefix or not",
        "FIELD-2",
        (_PROGRESS, f"{_PROGRESS}\nif {_IS_NEW}:\n    num_computed_tokens = 0"),
    ),
    defect(
        "progress-capped-at-prompt",
        "stopped counting progress at the end of the prompt",
        "FIELD-2",
        (_SET_PROGRESS, 'req_infos["_omni_num_computed_tokens"] = min(num_computed_tokens, prompt_len)'),
    ),
    defect(
        "progress-one-step-late",
        "read progress before it was brought up to date, so each row gets that of its last step",
        "FIELD-2 FIELD-4",
        (
            _PROGRESS,
            f"{_PROGRESS}\nlate = {kept('progress')}\n"
            "num_computed_tokens, late[req_id] = late.get(req_id, num_computed_tokens), num_computed_tokens",
        ),
    ),
    defect(
        "progress-never-falls-back",
        "kept the furthest progress of a request, so a preempted one is not seen to start again",
        "FIELD-2 FIELD-6",
        (
            _PROGRESS,
            f"{_PROGRESS}\nmost = {kept('progress')}\n"
            "num_computed_tokens = most[req_id] = max(most.get(req_id, 0), num_computed_tokens)",
        ),
    ),
)

PHASE = (
    defect(
        "boundary-late",
        "wrote <= for <, so the first decode step is prefill",
        "FIELD-3",
        (_PHASE, "is_prefill = num_computed_tokens <= prompt_len"),
    ),
    defect(
        "boundary-early",
        "compared with the last index of the prompt, so a one-token tail is decode",
        "FIELD-3",
        (_PHASE, "is_prefill = num_computed_tokens < prompt_len - 1"),
    ),
    defect(
        "boundary-at-end-of-span",
        "compared progress after the span, so the chunk that finishes a prompt is decode",
        "FIELD-3",
        (_PHASE, "is_prefill = num_computed_tokens + span_len < prompt_len"),
    ),
    defect(
        "boundary-past-prompt",
        "took a row that reaches past its prompt for decode",
        "FIELD-3",
        (_PHASE, "is_prefill = num_computed_tokens + span_len <= prompt_len"),
    ),
    defect(
        "phase-from-span",
        "took a span of more than one token for prefill",
        "FIELD-3",
        (_PHASE, "is_prefill = span_len > 1"),
    ),
    defect(
        "phase-first-chunk-only",
        "took only the first chunk of a prompt for prefill",
        "FIELD-3",
        (_PHASE, "is_prefill = num_computed_tokens == 0"),
    ),
    defect(
        "phase-one-token-prompt",
        "took a one-token prompt for decode",
        "FIELD-3",
        (_PHASE, "is_prefill = prompt_len > 1 and num_computed_tokens < prompt_len"),
    ),
    defect(
        "phase-one-token-tail",
        "took a one-token span behind other prompt tokens for decode",
        "FIELD-3",
        (
            _PHASE,
            "is_prefill = num_computed_tokens < prompt_len and not 0 < num_computed_tokens == prompt_len - span_len",
        ),
    ),
    defect(
        "phase-cached-prefix",
        "took a request that starts behind a cached prefix for one that goes on",
        "FIELD-3",
        (_PHASE, f"is_prefill = num_computed_tokens < prompt_len and not (num_computed_tokens > 0 and {_IS_NEW})"),
    ),
    defect(
        "phase-from-outputs",
        "took a request that has generated something for decode, resumed or not",
        "FIELD-3 FIELD-6",
        (_PHASE, "is_prefill = num_computed_tokens < prompt_len and not req_state.output_token_ids"),
    ),
    defect(
        "phase-from-sampling",
        "took a row that samples no token for prefill",
        "FIELD-3",
        (_PHASE, "is_prefill = num_computed_tokens + span_len < req_state.num_tokens"),
    ),
    defect(
        "phase-whole-batch",
        "computed one phase for the whole step: prefill as soon as one row is",
        "FIELD-3",
        (
            _PHASE,
            "is_prefill = any(int(done) < len(self.requests[each].prompt_token_ids or ()) for each, done in "
            "zip(self.input_batch.req_ids, self.input_batch.num_computed_tokens_cpu))",
        ),
    ),
    defect(
        "flag-int",
        "passed the flag as 0 or 1",
        "FIELD-3",
        (_SET_FLAG, 'req_infos["_omni_is_prefill"] = int(is_prefill)'),
    ),
    defect(
        "flag-numpy",
        "passed numpy's boolean on",
        "FIELD-3",
        (_SET_FLAG, 'req_infos["_omni_is_prefill"] = np.bool_(is_prefill)'),
    ),
    defect(
        "flag-text",
        "passed the phase by name",
        "FIELD-3",
        (_SET_FLAG, 'req_infos["_omni_is_prefill"] = "prefill" if is_prefill else "decode"'),
    ),
    defect(
        "flag-none-on-decode",
        "set the flag for prefill rows and left None for the others",
        "FIELD-3",
        (_SET_FLAG, 'req_infos["_omni_is_prefill"] = is_prefill or None'),
    ),
    defect(
        "flag-inverted",
        "passed whether the row is decode",
        "FIELD-3",
        (_SET_FLAG, 'req_infos["_omni_is_prefill"] = not is_prefill'),
    ),
)

FRESHNESS = (
    defect(
        "prompt-len-only-if-absent",
        "set the prompt length only where none stands in the state",
        "FIELD-4 FIELD-7",
        (_SET_PROMPT_LEN, 'req_infos.setdefault("_omni_prompt_len", prompt_len)'),
    ),
    defect(
        "progress-only-if-absent",
        "set progress only where none stands in the state",
        "FIELD-4 FIELD-7",
        (_SET_PROGRESS, 'req_infos.setdefault("_omni_num_computed_tokens", num_computed_tokens)'),
    ),
    defect(
        "flag-only-if-absent",
        "set the flag only where none stands in the state",
        "FIELD-4 FIELD-7",
        (_SET_FLAG, 'req_infos.setdefault("_omni_is_prefill", is_prefill)'),
    ),
    defect(
        "flag-only-on-prefill",
        "refreshed the flag on prefill rows only, so that of the last chunk stays",
        "FIELD-4",
        (
            _SET_FLAG,
            'if is_prefill or "_omni_is_prefill" not in req_infos:\n    req_infos["_omni_is_prefill"] = is_prefill',
        ),
    ),
    defect(
        "fields-once-a-request",
        "set the fields when a request is new, and never again",
        "FIELD-4",
        (_SET_PROMPT_LEN, f"if {_IS_NEW}:\n    {_SET_PROMPT_LEN}"),
        (_SET_PROGRESS, f"if {_IS_NEW}:\n    {_SET_PROGRESS}"),
        (_SET_FLAG, f"if {_IS_NEW}:\n    {_SET_FLAG}"),
    ),
    defect(
        "fields-after-hook",
        "set the fields behind the call of preprocess, for the next step",
        "FIELD-4 HOOK-1",
        (f"{_SET_PROMPT_LEN}\n{_SET_PROGRESS}\n{_SET_FLAG}", "pass"),
        (
            "seg_len = min(span_len, req_embeds.shape[0])",
            f"{_SET_PROMPT_LEN}\n{_SET_PROGRESS}\n{_SET_FLAG}\nseg_len = min(span_len, req_embeds.shape[0])",
        ),
    ),
    defect(
        "state-over-fields",
        "laid the request's state over the fields, so what a model planted there wins",
        "FIELD-4 FIELD-7",
        (_INFOS, "req_infos = dict(self.model_intermediate_buffer.get(req_id, {}))"),
        (_SET_FLAG, f"{_SET_FLAG}\nreq_infos.update(self.model_intermediate_buffer.get(req_id, {{}}))"),
    ),
    defect(
        "update-over-fields",
        "laid the hook's last update over the next step's fields",
        "FIELD-4 FIELD-7",
        (
            _SET_FLAG,
            f"{_SET_FLAG}\nreq_infos.update({kept('update')}.get(req_id, {{}}))",
        ),
        (
            "seg_len = min(span_len, req_embeds.shape[0])",
            f"{kept('update')}[req_id] = update_dict\nseg_len = min(span_len, req_embeds.shape[0])",
        ),
    ),
    defect(
        "set-where-progress-moved",
        "set the three values only where the progress in the state is another one",
        "FIELD-4 FIELD-7",
        (
            f"{_SET_PROMPT_LEN}\n{_SET_PROGRESS}\n{_SET_FLAG}",
            'if req_infos.get("_omni_num_computed_tokens") != num_computed_tokens:\n'
            f"    {_SET_PROMPT_LEN}\n    {_SET_PROGRESS}\n    {_SET_FLAG}",
        ),
    ),
    defect(
        "fields-only-if-unequal",
        "left a value in place that is equal, whatever its type",
        "FIELD-1 FIELD-2 FIELD-3 FIELD-4",
        *(
            (assignment, f'if req_infos.get("{name}") != {value}:\n    {assignment}')
            for name, value, assignment in (
                ("_omni_prompt_len", "prompt_len", _SET_PROMPT_LEN),
                ("_omni_num_computed_tokens", "num_computed_tokens", _SET_PROGRESS),
                ("_omni_is_prefill", "is_prefill", _SET_FLAG),
            )
        ),
    ),
    defect(
        "planted-progress-trusted",
        "believed a progress that the model wrote, if it is further",
        "FIELD-4 FIELD-7",
        (
            _SET_PROGRESS,
            'req_infos["_omni_num_computed_tokens"] = '
            'max(num_computed_tokens, req_infos.get("_omni_num_computed_tokens", 0))',
        ),
    ),
)

WHOSE_ROW = (
    defect(
        "progress-by-arrival",
        "looked progress up at the place at which the request arrived",
        "FIELD-2 FIELD-5",
        (
            _PROGRESS,
            "num_computed_tokens = int(self.input_batch.num_computed_tokens_cpu[list(self.requests).index(req_id)])",
        ),
    ),
    defect(
        "progress-at-first-place",
        "remembered the place that a request had when it came into the batch",
        "FIELD-2 FIELD-5",
        (
            _PROGRESS,
            "num_computed_tokens = int(self.input_batch.num_computed_tokens_cpu["
            f"{kept('place')}.setdefault(req_id, req_index)])",
        ),
    ),
    defect(
        "progress-of-neighbour",
        "was off by one in the batch, so each row gets the progress of the one before",
        "FIELD-2 FIELD-5",
        (
            _PROGRESS,
            "num_computed_tokens = int(self.input_batch.num_computed_tokens_cpu["
            "(req_index - 1) % len(self.input_batch.req_ids)])",
        ),
    ),
    defect(
        "progress-in-scheduled-order",
        "indexed the batch by the scheduler's order of requests",
        "FIELD-2 FIELD-5",
        (
            _PROGRESS,
            "num_computed_tokens = int(self.input_batch.num_computed_tokens_cpu["
            "list(scheduler_output.num_scheduled_tokens).index(req_id)])",
        ),
    ),
    defect(
        "rows-by-name",
        "went through the requests in the order of their names, while places stayed",
        "FIELD-5 ROUTE-3 ROUTE-4",
        (_ROWS, "for req_index, req_id in enumerate(sorted(self.input_batch.req_ids)):\n    ..."),
    ),
    defect(
        "prompt-of-first-row",
        "read the prompt of the first row for all",
        "FIELD-1 FIELD-5",
        (_STATE, "req_state = self.requests.get(self.input_batch.req_ids[0])\nreq_infos = A"),
    ),
    defect(
        "resumed-from-the-start",
        "took a resumed request to start at zero, although some of its blocks were still there",
        "FIELD-2",
        (
            _PROGRESS,
            f"{_PROGRESS}\nif req_id in scheduler_output.scheduled_cached_reqs.resumed_req_ids:\n"
            "    num_computed_tokens = 0",
        ),
    ),
    defect(
        "spans-by-total",
        "made the spans anew only where the requests of a step or its number of tokens changed",
        "FIELD-5 ROUTE-3",
        (
            "num_scheduled_tokens_np = np.array(A, dtype=np.int32)",
            "layout = (tuple(req_ids), num_scheduled_tokens)\n"
            f"num_scheduled_tokens_np = {kept('spans')}.setdefault(layout, np.array(A, dtype=np.int32))",
        ),
    ),
    defect(
        "drafts-not-counted",
        "left drafts out of the span by which a row goes to the batched hook",
        "ROUTE-1 ROUTE-2 ROUTE-5",
        (
            "callable(batch_decode_preprocess) and span_len == 1 and not is_prefill",
            "callable(batch_decode_preprocess) and not is_prefill and "
            "1 == span_len - len(scheduler_output.scheduled_spec_decode_tokens.get(req_id, ()))",
        ),
    ),
    defect(
        "batched-ids-from-the-cpu",
        "read the ids of the batched hook from the batch's copy on the CPU",
        "FIELD-5 ROUTE-6",
        (
            "ids_b = torch.stack(A)",
            "rows_b = [self.input_batch.req_id_to_index[each] for each in req_ids_b]\n"
            "ids_b = torch.as_tensor(self.input_batch.token_ids_cpu["
            "rows_b, self.input_batch.num_computed_tokens_cpu[rows_b]], dtype=torch.int32)",
        ),
    ),
    defect(
        "scalar-mtp-ids-from-the-scheduler",
        "gave MTP the scheduled id of a row that preprocess served, not the one that it returned",
        "ROUTE-4 ROUTE-6",
        ("A.gpu[decode_slice].copy_(req_input_ids)", "A.gpu[decode_slice].copy_(preprocess_input_ids[s:e])"),
        otherwise=(("A.gpu[decode_slice].copy_(req_input_ids)", "A.gpu[decode_slice].copy_(input_ids[s:e])"),),
    ),
    defect(
        "state-by-first-part-of-id",
        "took a request's id up to a dash for the whole of it, and so one request's state for another's",
        "STATE-2 STATE-1 FIELD-5",
        (_INFOS, 'req_infos = self.model_intermediate_buffer.get(req_id.split("-")[0], {})'),
    ),
    defect(
        "one-mapping-for-all-rows",
        "filled one mapping again for every row, so batched entries are all the last one",
        "FIELD-5 HOOK-2",
        (
            _INFOS,
            f"req_infos = {kept('infos')}\nreq_infos.update(self.model_intermediate_buffer.get(req_id, {{}}))",
        ),
    ),
    defect(
        "fields-into-last-entry",
        "put a decode row's fields into the entry that was collected before it",
        "FIELD-5 HOOK-2",
        (
            _SET_PROGRESS,
            f"{_SET_PROGRESS}\nif decode_batch_items:\n    decode_batch_items[-1][2].update("
            '{"_omni_prompt_len": prompt_len, "_omni_num_computed_tokens": num_computed_tokens})',
        ),
    ),
)

LATCHED = (
    defect(
        "phase-latched-at-start",
        "took the phase of a request's first step for its life",
        "FIELD-3 FIELD-6",
        (_PHASE, f"is_prefill = {kept('phase')}.setdefault(req_id, num_computed_tokens < prompt_len)"),
    ),
    defect(
        "phase-latched-at-decode",
        "never took a request for prefill again once it was decode",
        "FIELD-3 FIELD-6",
        (
            _PHASE,
            f"decoding = {kept('decoding')}\n"
            "is_prefill = num_computed_tokens < prompt_len and req_id not in decoding\n"
            "if not is_prefill:\n    decoding[req_id] = True",
        ),
    ),
    defect(
        "prompt-len-of-steady-decode",
        "kept the prompt length of a decode row for as long as the request goes on by one token",
        "FIELD-1 FIELD-3 FIELD-6",
        (
            _PROMPT_LEN,
            "start = int(self.input_batch.num_computed_tokens_cpu[req_index])\n"
            f"steady, due = {kept('steady')}.get(req_id, (0, -1))\n"
            "prompt_len = steady if span_len == 1 and steady <= due == start else len(prompt_token_ids or ())\n"
            f"{kept('steady')}[req_id] = prompt_len, start + span_len",
        ),
    ),
    defect(
        "prompt-len-latched",
        "kept the prompt length that was first seen under a request's id",
        "FIELD-1 FIELD-6",
        (_PROMPT_LEN, f"prompt_len = {kept('prompt')}.setdefault(req_id, len(prompt_token_ids or ()))"),
    ),
    defect(
        "resumed-rows-are-decode",
        "took a row that starts again, having been further, for decode",
        "FIELD-3 FIELD-6",
        (
            _PHASE,
            f"further = {kept('further')}\n"
            "is_prefill = num_computed_tokens < prompt_len and num_computed_tokens >= further.get(req_id, 0)\n"
            "further[req_id] = max(num_computed_tokens, further.get(req_id, 0))",
        ),
    ),
)

_SCALAR_CALL = "self.model.preprocess(input_ids=A, input_embeds=B, **req_infos)"
_BATCHED_CALL = "A, B, C, D, E = batch_decode_preprocess(input_ids=ids_b, req_infos=req_infos_b)"
_BATCHED_GUARD = "callable(batch_decode_preprocess) and ... and span_len == 1 and not is_prefill"
_WITHOUT_FIELDS = "{k: v for k, v in info.items() if not k.startswith('_omni_')}"

HOOKS = (
    defect(
        "keywords-left-out",
        "filtered private keys out of the keywords of preprocess",
        "HOOK-1 FIELD-3",
        (
            _SCALAR_CALL,
            "self.model.preprocess(input_ids=A, input_embeds=B, "
            "**{k: v for k, v in req_infos.items() if not k.startswith('_omni_')})",
        ),
    ),
    defect(
        "keywords-in-a-mapping",
        "passed the fields as one mapping",
        "HOOK-1 FIELD-3",
        (
            _SCALAR_CALL,
            "self.model.preprocess(input_ids=A, input_embeds=B, "
            "request_id=req_id, runtime_info={k: v for k, v in req_infos.items() if k.startswith('_omni_')})",
        ),
    ),
    defect(
        "keywords-on-prefill-only",
        "left the fields out where a decode row goes to preprocess",
        "HOOK-1",
        (
            _SCALAR_CALL,
            "self.model.preprocess(input_ids=A, input_embeds=B, "
            "**{k: v for k, v in req_infos.items() if is_prefill or not k.startswith('_omni_')})",
        ),
    ),
    defect(
        "ids-beside-placeholders",
        "handed placeholders for a whole row where the drafts in it are not known yet",
        "FIELD-5",
        (
            _SCALAR_CALL,
            "self.model.preprocess(input_ids=torch.full_like(A, -1) if bool((A < 0).any()) else A, input_embeds=B, "
            "**req_infos)",
        ),
    ),
    defect(
        "embeddings-of-first-row",
        "cut a row's embeddings out of the buffer from its start",
        "HOOK-1",
        (
            _SCALAR_CALL,
            "self.model.preprocess(input_ids=A, input_embeds=B if B is None else inputs_embeds[:span_len], "
            "**req_infos)",
        ),
    ),
    defect(
        "keywords-without-falsy-values",
        "dropped empty values from the keywords, a False flag and zero progress among them",
        "HOOK-1 FIELD-2 FIELD-3",
        (
            _SCALAR_CALL,
            "self.model.preprocess(input_ids=A, input_embeds=B, "
            "**{k: v for k, v in req_infos.items() if not isinstance(v, int) or v})",
        ),
    ),
    defect(
        "infos-reversed",
        "handed the batched hook its entries in reverse",
        "HOOK-2 ROUTE-4",
        (_BATCHED_CALL, "A, B, C, D, E = batch_decode_preprocess(input_ids=ids_b, req_infos=req_infos_b[::-1])"),
    ),
    defect(
        "infos-by-name",
        "sorted the batched hook's entries by request",
        "HOOK-2 ROUTE-4",
        (
            _BATCHED_CALL,
            "A, B, C, D, E = batch_decode_preprocess("
            "input_ids=ids_b, req_infos=sorted(req_infos_b, key=lambda info: info['request_id']))",
        ),
    ),
    defect(
        "infos-from-batch-start",
        "took the batched hook's entries from the first rows of the batch",
        "HOOK-2 ROUTE-4",
        (
            _BATCHED_CALL,
            "A, B, C, D, E = batch_decode_preprocess(input_ids=ids_b, req_infos="
            "[self.model_intermediate_buffer[r] for r in self.input_batch.req_ids[:len(req_ids_b)]])",
        ),
    ),
    defect(
        "infos-without-fields",
        "filtered private keys out of the batched hook's entries",
        "HOOK-2 FIELD-3",
        (
            _BATCHED_CALL,
            "A, B, C, D, E = batch_decode_preprocess("
            f"input_ids=ids_b, req_infos=[{_WITHOUT_FIELDS} for info in req_infos_b])",
        ),
    ),
    defect(
        "batched-ids-reversed",
        "collected the batched hook's input ids in reverse",
        "HOOK-2 ROUTE-4",
        (
            "ids_b = torch.stack([A for offset in start_offsets_b])",
            "ids_b = torch.stack([A for offset in start_offsets_b[::-1]])",
        ),
    ),
    defect(
        "batched-ids-from-batch-start",
        "took the batched hook's input ids from the start of the step's tokens",
        "HOOK-2 ROUTE-4",
        (
            "ids_b = torch.stack([A for offset in start_offsets_b])",
            "ids_b = torch.stack([A for offset in range(len(start_offsets_b))])",
        ),
    ),
)

ROUTING = (
    defect(
        "batched-guard-dropped",
        "sent every one-token row to the batched hook, prefill included",
        "ROUTE-1 HOOK-2 ROUTE-3",
        (_BATCHED_GUARD, "callable(batch_decode_preprocess) and ... and span_len == 1"),
    ),
    defect(
        "batched-guard-for-tails-only",
        "let one-token prompts through the batched guard",
        "ROUTE-1 HOOK-2 ROUTE-3",
        (
            _BATCHED_GUARD,
            "callable(batch_decode_preprocess) and ... and span_len == 1 and not (is_prefill and prompt_len > 1)",
        ),
    ),
    defect(
        "batched-guard-without-span",
        "sent decode rows of any span to the batched hook",
        "ROUTE-1 HOOK-2 ROUTE-5",
        (_BATCHED_GUARD, "callable(batch_decode_preprocess) and ... and not is_prefill"),
    ),
    defect(
        "batched-hook-never-called",
        "looked the batched hook up under another name",
        "ROUTE-1",
        ('getattr(self.model, "preprocess_decode_batch", None)', 'getattr(self.model, "preprocess_decode", None)'),
    ),
    defect(
        "batched-hook-first-group-only",
        "sent decode rows behind the first group to preprocess",
        "ROUTE-1",
        (
            _BATCHED_GUARD,
            "callable(batch_decode_preprocess) and ... and span_len == 1 and not is_prefill and not decode_req_ids",
        ),
    ),
    defect(
        "batched-hook-in-uniform-steps-only",
        "called the batched hook only where every row of the step has one token",
        "ROUTE-1",
        (
            _BATCHED_GUARD,
            "callable(batch_decode_preprocess) and ... and span_len == 1 and not is_prefill "
            "and num_scheduled_tokens_np.max() == 1",
        ),
    ),
    defect(
        "batched-rows-hooked-twice",
        "forgot continue, so a batched row reaches preprocess too",
        "ROUTE-1",
        ("decode_batch_items.append(A)\ncontinue", "decode_batch_items.append(A)"),
    ),
    defect(
        "cached-rows-not-hooked",
        "skipped the hook for a request that starts behind a cached prefix",
        "ROUTE-1",
        (_SET_FLAG, f"{_SET_FLAG}\nif num_computed_tokens > 0 and is_prefill and {_IS_NEW}:\n    continue"),
    ),
    defect(
        "last-flush-forgotten",
        "forgot to flush the decode rows at the end of the step",
        "ROUTE-1 ROUTE-6",
        ("flush_decode_batch()\nif self.has_talker_mtp:\n    ...", "if self.has_talker_mtp:\n    ..."),
    ),
    defect(
        "flush-before-prefill-forgotten",
        "forgot to flush before a prefill row, so a group without MTP is not adjacent",
        "ROUTE-1",
        ("flush_decode_batch()\nembed_slice = A", "embed_slice = A"),
    ),
    defect(
        "flush-loses-last-row",
        "cut the last row off a group of decode rows",
        "ROUTE-1 ROUTE-6",
        (
            "req_ids_b = [A for item in decode_batch_items]",
            "decode_batch_items[1:] = decode_batch_items[1:-1]\nreq_ids_b = [A for item in decode_batch_items]",
        ),
    ),
    defect(
        "flush-keeps-its-rows",
        "did not clear a group behind its hook, so the next flush takes it again",
        "ROUTE-1 ROUTE-2",
        (
            "decode_start_offsets.extend(start_offsets_b)\ndecode_batch_items.clear()",
            "decode_start_offsets.extend(start_offsets_b)",
        ),
    ),
)

_SCALAR_GUARD = "self.has_talker_mtp and span_len == 1 and not is_prefill"
_CALL_MTP = "self._talker_mtp_forward(decode_req_ids, inputs_embeds, decode_start_offsets)"
_LAST_OF_SPAN = (
    (
        "self.talker_mtp_input_ids.gpu[decode_slice].copy_(req_input_ids)",
        "self.talker_mtp_input_ids.gpu[decode_slice].copy_(req_input_ids[-1:])",
    ),
    (
        "self.talker_mtp_inputs_embeds.gpu[decode_slice].copy_(req_embeds)",
        "self.talker_mtp_inputs_embeds.gpu[decode_slice].copy_(req_embeds[-1:])",
    ),
)

MTP = (
    defect(
        "mtp-never",
        "looked for MTP where this model does not have it",
        "ROUTE-2 ROUTE-4",
        (f"if self.has_talker_mtp:\n    {_CALL_MTP}", f'if hasattr(self.model, "code_predictor"):\n    {_CALL_MTP}'),
    ),
    defect(
        "mtp-on-longer-spans",
        "dropped the span from the scalar guard, as the inputs were one row anyway",
        "ROUTE-2 ROUTE-5",
        (_SCALAR_GUARD, "self.has_talker_mtp and not is_prefill"),
    ),
    defect(
        "mtp-on-last-token-of-span",
        "let MTP take the last token of a decode span",
        "ROUTE-2 ROUTE-5",
        (_SCALAR_GUARD, "self.has_talker_mtp and not is_prefill"),
        *_LAST_OF_SPAN,
        ("decode_start_offsets.append(s)", "decode_start_offsets.append(e - 1)"),
    ),
    defect(
        "mtp-on-verified-span",
        "let MTP take the last token of a decode span of two",
        "ROUTE-2 ROUTE-5",
        (_SCALAR_GUARD, "self.has_talker_mtp and span_len <= 2 and not is_prefill"),
        *_LAST_OF_SPAN,
        ("decode_start_offsets.append(s)", "decode_start_offsets.append(e - 1)"),
    ),
    defect(
        "mtp-skips-first-decode-step",
        "left MTP out of the step that follows the prompt",
        "ROUTE-2 ROUTE-4",
        (_SCALAR_GUARD, "self.has_talker_mtp and span_len == 1 and num_computed_tokens > prompt_len"),
    ),
    defect(
        "mtp-first-row-only",
        "gave MTP the first decode row only",
        "ROUTE-2 ROUTE-4",
        (_CALL_MTP, "self._talker_mtp_forward(decode_req_ids[:1], inputs_embeds, decode_start_offsets[:1])"),
    ),
    defect(
        "mtp-in-uniform-steps-only",
        "ran MTP only where every row of the step takes it",
        "ROUTE-2 ROUTE-4",
        (
            f"if self.has_talker_mtp:\n    {_CALL_MTP}",
            f"if self.has_talker_mtp and len(decode_req_ids) == len(self.input_batch.req_ids):\n    {_CALL_MTP}",
        ),
    ),
    defect(
        "mtp-after-prefill-only",
        "ran MTP of a mixed step on the decode rows behind its last prefill row",
        "ROUTE-2 ROUTE-4",
        (
            "flush_decode_batch()\nembed_slice = A",
            "flush_decode_batch()\nif is_prefill:\n    decode_req_ids.clear()\n    decode_start_offsets.clear()\n"
            "embed_slice = A",
        ),
    ),
)

EXCLUSIONS = (
    defect(
        "scalar-guard-dropped",
        "gated MTP on the span alone, so every one-token prefill row takes it",
        "ROUTE-2 ROUTE-3",
        (_SCALAR_GUARD, "self.has_talker_mtp and span_len == 1"),
    ),
    defect(
        "mtp-by-offered-inputs",
        "gated MTP on whether the hook offered inputs for it",
        "ROUTE-2 ROUTE-3",
        (_SCALAR_GUARD, 'self.has_talker_mtp and span_len == 1 and "mtp_inputs" in update_dict'),
    ),
    defect(
        "mtp-on-resumed-prompt",
        "let MTP take the offered inputs of a one-token row where the request had generated tokens before",
        "ROUTE-2 ROUTE-3",
        (
            _SCALAR_GUARD,
            "self.has_talker_mtp and span_len == 1 and "
            '(not is_prefill or self.requests[req_id].output_token_ids and "mtp_inputs" in update_dict)',
        ),
    ),
    defect(
        "batched-hook-on-resumed-prompt",
        "gave the batched hook a one-token row of any request that had generated tokens before",
        "HOOK-2 ROUTE-1",
        (
            _BATCHED_GUARD,
            "callable(batch_decode_preprocess) and ... and span_len == 1 and "
            "(not is_prefill or self.requests[req_id].output_token_ids)",
        ),
    ),
    defect(
        "mtp-on-one-token-prompt",
        "guarded prompts of more than one token only",
        "ROUTE-2 ROUTE-3",
        (_SCALAR_GUARD, "self.has_talker_mtp and span_len == 1 and not (is_prefill and prompt_len > 1)"),
    ),
    defect(
        "mtp-on-tail",
        "guarded the start of a prompt only, so a one-token tail takes MTP",
        "ROUTE-2 ROUTE-3",
        (_SCALAR_GUARD, "self.has_talker_mtp and span_len == 1 and num_computed_tokens > 0"),
    ),
    defect(
        "mtp-on-cached-tail",
        "guarded every prefill row but the tail behind a cached prefix",
        "ROUTE-2 ROUTE-3",
        (
            _SCALAR_GUARD,
            "self.has_talker_mtp and span_len == 1 "
            f"and not (is_prefill and not (num_computed_tokens > 0 and {_IS_NEW}))",
        ),
    ),
    defect(
        "mtp-on-last-prompt-token",
        "let MTP take the last token of every prompt, since it samples",
        "ROUTE-2 ROUTE-3",
        (
            _SCALAR_GUARD,
            "self.has_talker_mtp and (span_len == 1 and not is_prefill "
            "or is_prefill and num_computed_tokens + span_len == prompt_len)",
        ),
        *_LAST_OF_SPAN,
        ("decode_start_offsets.append(s)", "decode_start_offsets.append(e - 1)"),
    ),
    defect(
        "prefill-inputs-reach-mtp",
        "preferred MTP inputs that stand in the state, which a prefill row left there",
        "ROUTE-3 ROUTE-4",
        (
            'last_talker_hidden, text_step = update_dict.pop("mtp_inputs")',
            'own = update_dict.pop("mtp_inputs")\nlast_talker_hidden, text_step = req_infos.get("mtp_inputs", own)',
        ),
    ),
    defect(
        "tail-not-written",
        "left the embedding of a one-token prefill row to MTP, which does not take it",
        "ROUTE-3",
        (
            "inputs_embeds[s : s + seg_len] = req_embeds[:seg_len]",
            "if not (is_prefill and span_len == 1):\n    inputs_embeds[s : s + seg_len] = req_embeds[:seg_len]",
        ),
    ),
    defect(
        "first-token-written-only",
        "wrote one embedding of each span back",
        "ROUTE-3 ROUTE-5",
        ("seg_len = min(span_len, req_embeds.shape[0])", "seg_len = min(1, req_embeds.shape[0])"),
    ),
    defect(
        "last-token-not-written",
        "wrote all embeddings of a longer span back but the last",
        "ROUTE-3 ROUTE-5",
        (
            "seg_len = min(span_len, req_embeds.shape[0])",
            "seg_len = max(1, min(span_len, req_embeds.shape[0]) - 1)",
        ),
    ),
    defect(
        "long-decode-span-not-written",
        "wrote only the first embedding of a decode span back",
        "ROUTE-5",
        (
            "seg_len = min(span_len, req_embeds.shape[0])",
            "seg_len = min(span_len if is_prefill else 1, req_embeds.shape[0])",
        ),
    ),
    defect(
        "written-at-row-number",
        "wrote embeddings back at the row's number in the batch",
        "ROUTE-3 ROUTE-5",
        (
            "inputs_embeds[s : s + seg_len] = req_embeds[:seg_len]",
            "inputs_embeds[req_index : req_index + seg_len] = req_embeds[:seg_len]",
        ),
    ),
    defect(
        "written-past-prompt-not",
        "wrote back only the embeddings of prompt tokens, also of a resumed row that reaches past them",
        "ROUTE-3",
        (
            "seg_len = min(span_len, req_embeds.shape[0])",
            "seg_len = min(span_len, req_embeds.shape[0], "
            "prompt_len - num_computed_tokens if is_prefill else span_len)",
        ),
    ),
    defect(
        "prompt-looked-up-again",
        "looked the embeddings of prefill rows up behind the hook",
        "ROUTE-3",
        (
            "inputs_embeds[s : s + seg_len] = req_embeds[:seg_len]",
            "inputs_embeds[s : s + seg_len] = (self.model.embed_input_ids(preprocess_input_ids[s : s + seg_len]) "
            "if is_prefill else req_embeds[:seg_len])",
        ),
    ),
)

DECODE = (
    defect(
        "padding-reaches-forward",
        "copied MTP's whole batch to the start of the step, padding included",
        "ROUTE-3 ROUTE-4",
        (
            "inputs_embeds[:decode_batch_size].copy_(req_embeds[:decode_batch_size])",
            "inputs_embeds[: len(req_embeds)].copy_(req_embeds[: len(inputs_embeds)])",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-from-the-end-of-the-batch",
        "took the last rows of MTP for its batch, which they are without padding",
        "ROUTE-4",
        (
            "{out_key[0]: {out_key[1]: code_predictor_codes[idx : idx + 1]}}",
            "{out_key[0]: {out_key[1]: code_predictor_codes[-decode_batch_size:][idx : idx + 1]}}",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "offset-is-row-number",
        "noted a decode row's number in the batch for its token offset",
        "ROUTE-4 ROUTE-3",
        ("decode_start_offsets.append(s)", "decode_start_offsets.append(req_index)"),
    ),
    defect(
        "offset-is-end",
        "noted the end of a decode row's span for its start",
        "ROUTE-4",
        ("decode_start_offsets.append(s)", "decode_start_offsets.append(min(e, num_scheduled_tokens - 1))"),
    ),
    defect(
        "batched-offset-is-row-number",
        "noted a batched row's number in the batch for its token offset",
        "ROUTE-4 HOOK-2",
        (
            "decode_batch_items.append((req_id, s, req_infos))",
            "decode_batch_items.append((req_id, req_index, req_infos))",
        ),
    ),
    defect(
        "offsets-reversed",
        "handed MTP the offsets in reverse",
        "ROUTE-4",
        (_CALL_MTP, "self._talker_mtp_forward(decode_req_ids, inputs_embeds, decode_start_offsets[::-1])"),
    ),
    defect(
        "requests-reversed",
        "handed MTP the requests in reverse, so each gets another's codes",
        "ROUTE-4",
        (_CALL_MTP, "self._talker_mtp_forward(decode_req_ids[::-1], inputs_embeds, decode_start_offsets)"),
    ),
    defect(
        "mtp-slot-zero",
        "collected every row's MTP inputs in the first slot",
        "ROUTE-4 ROUTE-2",
        ("decode_slice = slice(len(decode_req_ids), len(decode_req_ids) + 1)", "decode_slice = slice(0, 1)"),
    ),
    defect(
        "batched-slots-from-zero",
        "collected every group's MTP inputs from the first slot on",
        "ROUTE-4 ROUTE-2",
        ("dst = slice(len(decode_req_ids), len(decode_req_ids) + len(req_ids_b))", "dst = slice(0, len(req_ids_b))"),
    ),
    defect(
        "hidden-and-text-swapped",
        "unpacked the two MTP inputs in the wrong order",
        "ROUTE-4",
        (
            'last_talker_hidden, text_step = update_dict.pop("mtp_inputs")',
            'text_step, last_talker_hidden = update_dict.pop("mtp_inputs")',
        ),
    ),
    defect(
        "hidden-of-neighbour",
        "shifted the batched hidden states by one row",
        "ROUTE-4",
        (
            "self.last_talker_hidden.gpu[dst].copy_(last_talker_hidden)",
            "self.last_talker_hidden.gpu[dst].copy_(last_talker_hidden.roll(1, 0))",
        ),
    ),
    defect(
        "text-step-not-copied",
        "left the text step of the last step in the buffer",
        "ROUTE-4",
        ("self.text_step.gpu[decode_slice].copy_(text_step)", "pass"),
    ),
    defect(
        "mtp-embedding-not-copied",
        "left the embedding of the last step in MTP's buffer",
        "ROUTE-4",
        ("self.talker_mtp_inputs_embeds.gpu[decode_slice].copy_(req_embeds)", "pass"),
    ),
    defect(
        "mtp-ids-not-copied",
        "left the input id of the last step in MTP's buffer",
        "ROUTE-6",
        ("self.talker_mtp_input_ids.gpu[decode_slice].copy_(req_input_ids)", "pass"),
    ),
    defect(
        "write-back-over-mtp",
        "wrote the embeddings of decode rows back once more, behind MTP",
        "ROUTE-4",
        (
            f"if self.has_talker_mtp:\n    {_CALL_MTP}",
            f"if self.has_talker_mtp:\n    {_CALL_MTP}\n    for slot, offset in enumerate(decode_start_offsets):\n"
            "        inputs_embeds[offset] = self.talker_mtp_inputs_embeds.gpu[slot]",
        ),
    ),
)

_WRITE_ONE = "inputs_embeds[start_offset : start_offset + 1] = req_embeds[idx : idx + 1]"
"""Through 0.28.0 each MTP embedding is written by itself."""

_NESTED = "{out_key[0]: {out_key[1]: code_predictor_codes[idx : idx + 1]}}"

CODES = (
    defect(
        "offsets-assumed-dense",
        "wrote MTP embeddings to the first rows, as in a step of decode rows only",
        "ROUTE-4 ROUTE-3",
        ("start_offsets == list(range(decode_batch_size))", "start_offsets is not None"),
        method="_talker_mtp_forward",
        otherwise=((_WRITE_ONE, "inputs_embeds[idx : idx + 1] = req_embeds[idx : idx + 1]"),),
    ),
    defect(
        "single-row-assumed-first",
        "took a lone decode row to stand first",
        "ROUTE-4 ROUTE-3",
        (
            "start_offsets == list(range(decode_batch_size))",
            "decode_batch_size == 1 or start_offsets == list(range(decode_batch_size))",
        ),
        method="_talker_mtp_forward",
        otherwise=((_WRITE_ONE, f"start_offset = 0 if decode_batch_size == 1 else start_offset\n{_WRITE_ONE}"),),
    ),
    defect(
        "offsets-looked-up-by-slot",
        "looked offsets up by the slot in MTP's batch",
        "ROUTE-4 ROUTE-3",
        (
            "if start_offsets is None:\n    ...",
            "start_offsets = [int(self.query_start_loc.cpu[slot]) for slot in range(decode_batch_size)]",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-of-first-row",
        "stored the first row's codes for all",
        "ROUTE-4",
        ("code_predictor_codes[idx : idx + 1]", "code_predictor_codes[:1]"),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-reversed",
        "stored codes in reverse",
        "ROUTE-4",
        (
            "code_predictor_codes[idx : idx + 1]",
            "code_predictor_codes[decode_batch_size - 1 - idx : decode_batch_size - idx]",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-of-whole-batch",
        "stored the codes of the whole batch for each row",
        "ROUTE-4",
        ("code_predictor_codes[idx : idx + 1]", "code_predictor_codes"),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-under-batch-order",
        "stored codes under the first requests of the batch",
        "ROUTE-4 ROUTE-3",
        (f"update_dict = {_NESTED}", f"req_id = self.input_batch.req_ids[idx]\nupdate_dict = {_NESTED}"),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-not-stored",
        "forgot to store the codes",
        "ROUTE-4",
        ("A(req_id, update_dict)", "None"),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-stored-once",
        "stored codes only where a request had none",
        "ROUTE-4",
        (
            "A(req_id, update_dict)",
            "A(req_id, update_dict) if out_key[0] not in self.model_intermediate_buffer.get(req_id, {}) else None",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "codes-one-step-late",
        "stored the codes of a request's last step",
        "ROUTE-4",
        (
            f"update_dict = {_NESTED}",
            f"late = {kept('codes')}\n"
            "late[req_id], codes = code_predictor_codes[idx : idx + 1], late.get(req_id)\n"
            "update_dict = {out_key[0]: {out_key[1]: codes}}",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "mtp-result-not-written",
        "ran MTP and kept its embeddings to itself",
        "ROUTE-4",
        ("inputs_embeds.index_copy_(0, offsets, req_embeds[:decode_batch_size])", "None"),
        ("inputs_embeds[:decode_batch_size].copy_(req_embeds[:decode_batch_size])", "None"),
        method="_talker_mtp_forward",
        otherwise=((_WRITE_ONE, "pass"),),
    ),
    defect(
        "mtp-result-reversed",
        "wrote MTP embeddings back in reverse where rows are not dense",
        "ROUTE-4",
        (
            "inputs_embeds.index_copy_(0, offsets, req_embeds[:decode_batch_size])",
            "inputs_embeds.index_copy_(0, offsets, req_embeds[:decode_batch_size].flip(0))",
        ),
        method="_talker_mtp_forward",
        otherwise=(
            (
                _WRITE_ONE,
                "inputs_embeds[start_offset : start_offset + 1] = req_embeds.flip(0)[idx : idx + 1]",
            ),
        ),
    ),
    defect(
        "stored-values-appended",
        "appended a tensor to the one that is stored, as for a stream",
        "ROUTE-4",
        (
            "self._store_value(existing_sub, qual, val, A)",
            "self._store_value(existing_sub, qual, "
            "torch.cat([existing_sub[qual], val]) if qual in existing_sub else val, A)",
        ),
        method="_update_intermediate_buffer",
    ),
    defect(
        "stored-under-every-request",
        "stored an update with every request that is alive",
        "ROUTE-4 ROUTE-3",
        (
            "self._store_value(existing_sub, qual, val, A)",
            "for each in self.requests:\n"
            "    theirs = self.model_intermediate_buffer.setdefault(each, {})\n"
            "    self._store_value(theirs.setdefault(k, {}), qual, val, A)",
        ),
        method="_update_intermediate_buffer",
    ),
    defect(
        "nested-values-not-stored",
        "stored flat values only",
        "ROUTE-4",
        ("isinstance(v, dict)", "False"),
        (
            "self._store_value(existing, k, v, set())",
            "None if isinstance(v, dict) else self._store_value(existing, k, v, set())",
        ),
        method="_update_intermediate_buffer",
    ),
)

_BATCHED_UPDATES = """
for req_id_b, update_dict_b in zip(req_ids_b, updates, strict=True):
    ...
decode_req_ids.extend(req_ids_b)
"""

AGREEMENT = (
    defect(
        "batched-updates-dropped",
        "forgot the updates that the batched hook returned",
        "ROUTE-6",
        (
            _BATCHED_UPDATES,
            "decode_req_ids.extend(req_ids_b)",
        ),
    ),
    defect(
        "batched-updates-reversed",
        "stored the batched hook's updates in reverse",
        "ROUTE-6",
        (
            _BATCHED_UPDATES,
            "for req_id_b, update_dict_b in zip(req_ids_b[::-1], updates, strict=True):\n    ...\n"
            "decode_req_ids.extend(req_ids_b)",
        ),
    ),
    defect(
        "scalar-updates-dropped",
        "forgot the update of a decode row that preprocess served",
        "ROUTE-6",
        ("A(req_id, update_dict)", "A(req_id, update_dict) if is_prefill else None"),
    ),
    defect(
        "batched-embedding-rounded",
        "collected batched embeddings in half precision",
        "ROUTE-6 ROUTE-4",
        (
            "self.talker_mtp_inputs_embeds.gpu[dst].copy_(req_embeds)",
            "self.talker_mtp_inputs_embeds.gpu[dst].copy_(req_embeds.to(torch.bfloat16))",
        ),
    ),
    defect(
        "batched-ids-not-copied",
        "left MTP's input ids of the last step in place for batched rows",
        "ROUTE-6",
        ("self.talker_mtp_input_ids.gpu[dst].copy_(A)", "None"),
    ),
)

SHARED_RUNNER: tuple[Mutant, ...] = (
    *PROMPT_LENGTH,
    *PROGRESS,
    *PHASE,
    *FRESHNESS,
    *WHOSE_ROW,
    *LATCHED,
    *HOOKS,
    *ROUTING,
    *MTP,
    *EXCLUSIONS,
    *DECODE,
    *CODES,
    *AGREEMENT,
)
