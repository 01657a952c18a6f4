"""Defects of Model Runner V2: edits of ``OmniModelState.run_preprocess`` and of what it calls.

The shapes are those of 0.30.0rc1 to 0.32.0rc1. A clause that V2 breaks as it is cannot show a defect: one that breaks
nothing else is reported as not measurable.
"""

from __future__ import annotations

from spec_examples.mutants.mutant import Edit, Mutant


def _defect(
    name: str,
    what: str,
    clauses: str,
    *edits: Edit,
    method: str = "run_preprocess",
    otherwise: tuple[Edit, ...] = (),
) -> Mutant:
    other = (otherwise,) if otherwise else ()
    return Mutant(f"v2-{name}", what, tuple(clauses.split()), method, edits, kind="v2", otherwise=other)


_SET_PROMPT_LEN = 'info["_omni_prompt_len"] = int(prompt_len)'
_SET_PROGRESS = 'info["_omni_num_computed_tokens"] = int(num_computed_tokens)'
_SET_FLAG = 'info["_omni_is_prefill"] = int(num_computed_tokens) < int(prompt_len)'
_PHASE = "int(num_computed_tokens) < int(prompt_len)"
_COLLECTED = "preprocess_entries.append((i, req_idx, start, n_tok, info, is_prefill))"
_SCALAR_CALL = "self.model.preprocess(ids_slice, emb_slice, **info)"
_SLOT = 'self._get_req_state_value(getattr(req_states, "prompt_len", None), req_idx)'
_PROGRESS = "self._get_input_batch_num_computed(input_batch, req_idx, i)"

MODEL_RUNNER_V2: tuple[Mutant, ...] = (
    _defect(
        "prompt-len-numpy",
        "passed numpy's integer on",
        "FIELD-1",
        Edit(_SET_PROMPT_LEN, 'info["_omni_prompt_len"] = input_batch.idx_mapping_np.dtype.type(prompt_len)'),
    ),
    _defect(
        "prompt-len-of-row",
        "looked the prompt length up by row, in an array that is ordered by slot",
        "FIELD-1 FIELD-5",
        Edit(_SLOT, 'self._get_req_state_value(getattr(req_states, "prompt_len", None), i)'),
    ),
    _defect(
        "prompt-len-of-replay",
        "took what a resumed request replays, generated tokens included, for its prompt",
        "FIELD-1 FIELD-3 FIELD-6",
        Edit(_SLOT, 'self._get_req_state_value(getattr(req_states, "prefill_len", None), req_idx)'),
    ),
    _defect(
        "cohort-anywhere",
        "took decode rows that stand side by side for the first rows of the batch",
        "HOOK-2 FIELD-5 ROUTE-4",
        Edit(
            "all(entry[0] == row and entry[2] == row for row, entry in enumerate(decode_entries))",
            "all(start == starts[0] + row for row, start in enumerate(starts))",
        ),
    ),
    _defect(
        "progress-after-span",
        "passed the progress that holds after the step",
        "FIELD-2",
        Edit(_SET_PROGRESS, 'info["_omni_num_computed_tokens"] = int(num_computed_tokens) + n_tok'),
    ),
    _defect(
        "progress-of-slot",
        "looked progress up by slot, in an array that is ordered by row",
        "FIELD-2 FIELD-5",
        Edit(_PROGRESS, "self._get_input_batch_num_computed(input_batch, req_idx, req_idx)"),
    ),
    _defect(
        "boundary-late",
        "wrote <= for <, so the first decode step is prefill",
        "FIELD-3",
        Edit(_PHASE, "int(num_computed_tokens) <= int(prompt_len)", times=2),
    ),
    _defect(
        "boundary-early",
        "compared with the last index of the prompt, so a one-token tail is decode",
        "FIELD-3",
        Edit(_PHASE, "int(num_computed_tokens) < int(prompt_len) - 1", times=2),
    ),
    _defect(
        "phase-from-span",
        "took a span of more than one token for prefill",
        "FIELD-3",
        Edit(_PHASE, "n_tok > 1", times=2),
    ),
    _defect(
        "flag-int",
        "passed the flag as 0 or 1",
        "FIELD-3",
        Edit(_SET_FLAG, 'info["_omni_is_prefill"] = int(int(num_computed_tokens) < int(prompt_len))'),
    ),
    _defect(
        "flag-left-out",
        "left the flag to the model, which can compute it",
        "FIELD-3 HOOK-1",
        Edit(_SET_FLAG, "pass"),
    ),
    _defect(
        "fields-only-if-absent",
        "set the fields only where none stand in the state",
        "FIELD-4 FIELD-7",
        Edit(_SET_PROMPT_LEN, 'info.setdefault("_omni_prompt_len", int(prompt_len))'),
        Edit(_SET_PROGRESS, 'info.setdefault("_omni_num_computed_tokens", int(num_computed_tokens))'),
        Edit(_SET_FLAG, f'info.setdefault("_omni_is_prefill", {_PHASE})'),
    ),
    _defect(
        "phase-latched-at-decode",
        "never took a request for prefill again once it was decode",
        "FIELD-3 FIELD-6",
        Edit(
            _COLLECTED,
            "decoding = self.__dict__.setdefault('_kept_decoding', set())\n"
            'decoding |= set() if is_prefill else {buf["req_id"]}\n'
            'is_prefill = info["_omni_is_prefill"] = buf["req_id"] not in decoding\n'
            f"{_COLLECTED}",
        ),
    ),
    _defect(
        "keywords-left-out",
        "filtered private keys out of the keywords of preprocess",
        "HOOK-1",
        Edit(
            _SCALAR_CALL,
            "self.model.preprocess(ids_slice, emb_slice, "
            "**{key: value for key, value in info.items() if not key.startswith('_omni_')})",
        ),
    ),
    _defect(
        "infos-reversed",
        "handed the batched hook its entries in reverse",
        "HOOK-2 ROUTE-4",
        Edit("[entry[4] for entry in decode_entries]", "[entry[4] for entry in decode_entries[::-1]]"),
    ),
    _defect(
        "batched-guard-dropped",
        "sent every one-token row to the batched hook, prefill included",
        "ROUTE-1 HOOK-2",
        Edit("A == 1 and not entry[5]", "A == 1"),
    ),
    _defect(
        "batched-rows-hooked-twice",
        "forgot to leave batched rows out of the loop over rows",
        "ROUTE-1",
        Edit("batched_decode_indices.add(i)", "None"),
        otherwise=(Edit("batched_indices.add(i)", "None"),),
    ),
    _defect(
        "mtp-never",
        "looked for MTP under the shared runner's name",
        "ROUTE-4",
        Edit('mtp_batches and hasattr(self.model, "mtp")', 'mtp_batches and hasattr(self.model, "code_predictor")'),
    ),
    _defect(
        "mtp-on-longer-spans",
        "gated MTP on the inputs alone",
        "ROUTE-5",
        Edit("mtp_inputs is not None and n_tok == 1", "mtp_inputs is not None"),
    ),
    _defect(
        "inputs-of-first-row",
        "gave MTP the first row's inputs for all",
        "ROUTE-4",
        Edit(
            "mtp_batches.append((i, start, mtp_inputs))",
            "mtp_batches.append((i, start, mtp_batches[0][2] if mtp_batches else mtp_inputs))",
        ),
    ),
    _defect(
        "tail-not-written",
        "left the embedding of a one-token row to MTP",
        "ROUTE-3",
        Edit(
            "embeds[start : start + seg] = new_emb[:seg]",
            "embeds[start : start + seg] = new_emb[:seg] if n_tok > 1 else 0",
        ),
    ),
    _defect(
        "last-token-not-written",
        "wrote all embeddings of a longer span back but the last",
        "ROUTE-3 ROUTE-5",
        Edit("seg = min(n_tok, new_ids.shape[0])", "seg = max(1, min(n_tok, new_ids.shape[0]) - 1)"),
    ),
    _defect(
        "codes-of-first-row",
        "stored the first row's codes for all",
        "ROUTE-4",
        Edit("codes[j : j + 1]", "codes[:1]", times=2),
        method="_run_batched_mtp",
    ),
    _defect(
        "mtp-result-not-written",
        "ran MTP and kept its embeddings to itself",
        "ROUTE-4",
        Edit("embeds.index_copy_(0, batch_offsets, A)", "None"),
        method="_run_batched_mtp",
    ),
    _defect(
        "batched-updates-dropped",
        "forgot the updates that the batched hook returned",
        "STATE-1",
        Edit("for req_idx, updates in state_updates:\n    ...", "for req_idx, updates in ():\n    ..."),
    ),
    _defect(
        "batched-updates-in-row-order",
        "stored the batched hook's updates by row, in buffers that are ordered by slot",
        "STATE-1 STATE-2",
        Edit(
            "for req_idx, updates in state_updates:\n    ...",
            "for req_idx, updates in enumerate(updates for _, updates in state_updates):\n    ...",
        ),
    ),
    _defect(
        "prefill-update-dropped",
        "stored no update of a prefill row",
        "STATE-1",
        Edit(
            'mtp_inputs = updates.pop("mtp_inputs", None)',
            'mtp_inputs = updates.pop("mtp_inputs", None)\nupdates = {} if _is_prefill else updates',
        ),
    ),
    _defect(
        "ids-not-written",
        "left the token ids in place that a row was given",
        "ROUTE-8",
        Edit("input_ids[start : start + seg] = new_ids[:seg]", "pass"),
    ),
    _defect(
        "output-key-ignored",
        "kept the codes at codes.audio, whatever place the model names",
        "ROUTE-4",
        Edit('getattr(self.model, "mtp_output_key", None)', '("codes", "audio")'),
        method="_run_batched_mtp",
    ),
    _defect(
        "resident-codes-reversed",
        "stored codes that stay on the device in reverse",
        "ROUTE-4",
        Edit(
            "self.intermediate_buffer.update_gpu_tensor_rows(req_indices, audio_key, codes[:bsz])",
            "self.intermediate_buffer.update_gpu_tensor_rows(req_indices[::-1], audio_key, codes[:bsz])",
        ),
        method="_run_batched_mtp",
    ),
    _defect(
        "mtp-infos-reversed",
        "handed MTP the mappings of its rows in reverse",
        "ROUTE-4",
        Edit('kwargs["req_infos"] = buffers', 'kwargs["req_infos"] = buffers[::-1]'),
        method="_get_mtp_sampling_kwargs",
    ),
)
