"""Defects of the shared runner in what it keeps for a model, and in what a model may declare or return."""

from __future__ import annotations

from spec_examples.mutants.mutant import Mutant
from spec_examples.mutants.shared_runner import defect, kept

_STORE = "for req_id_b, update_dict_b in zip(req_ids_b, updates, strict=True):\n    ...\ndecode_batch_items.clear()"
_ROWS_OF_STEP = "for req_index, req_id in enumerate(self.input_batch.req_ids):\n    ..."
_OUTPUT_KEY = 'getattr(self.model, "talker_mtp_output_key", ("codes", "audio"))'

STORED: tuple[Mutant, ...] = (
    defect(
        "updates-dropped-without-mtp",
        "stored the batched hook's updates where there is MTP, and forgot them where there is none",
        "STATE-1 ROUTE-6",
        (_STORE, "decode_batch_items.clear()"),
        since="0.30.0",
    ),
    defect(
        "updates-by-token-offset",
        "took a token offset for a row's number, and stored the batched hook's updates under others' names without MTP",
        "STATE-1 STATE-2 ROUTE-6",
        (
            _STORE,
            "for req_id_b, update_dict_b in zip(self.input_batch.req_ids[start:end], updates):\n"
            "    self._update_intermediate_buffer(req_id_b, update_dict_b)\ndecode_batch_items.clear()",
        ),
        since="0.30.0",
    ),
    defect(
        "batched-update-replaces-nested",
        "let an update of the batched hook replace all that stood under its keys",
        "STATE-1 ROUTE-6",
        (
            "for req_id_b, update_dict_b in zip(req_ids_b, updates, strict=True):\n    ...\ndecode_req_ids.extend(A)",
            "for req_info_b, update_dict_b in zip(req_infos_b, updates, strict=True):\n"
            "    req_info_b.update(update_dict_b)\ndecode_req_ids.extend(A)",
        ),
    ),
    defect(
        "prefill-update-under-first-row",
        "stored the update of a prefill row under the first request of the step",
        "STATE-1 STATE-2",
        (
            "A(req_id, update_dict)",
            "A(self.input_batch.req_ids[0] if is_prefill else req_id, update_dict)",
        ),
    ),
    defect(
        "tail-update-dropped",
        "stored no update of a one-token prefill row, as if MTP were to do so",
        "STATE-1",
        (
            "A(req_id, update_dict)",
            "None if is_prefill and span_len == 1 else A(req_id, update_dict)",
        ),
    ),
    defect(
        "long-decode-update-dropped",
        "stored no update of a decode row with a longer span",
        "STATE-1",
        (
            "A(req_id, update_dict)",
            "None if span_len > 1 and not is_prefill else A(req_id, update_dict)",
        ),
    ),
    defect(
        "state-dropped-on-pause",
        "dropped the state of a request that has no row in a step",
        "STATE-1",
        (
            "for req_id in unscheduled_req_ids:\n    self.input_batch.remove_request(req_id)",
            "for req_id in unscheduled_req_ids:\n    self.input_batch.remove_request(req_id)\n"
            "    self.model_intermediate_buffer.pop(req_id, None)",
        ),
        method="_update_states",
    ),
    defect(
        "state-kept-after-end",
        "kept the state of a request that has ended, for a later one with its id",
        "STATE-2",
        ("self.model_intermediate_buffer.pop(req_id, None)", "None"),
        method="_update_states",
    ),
    defect(
        "state-replaced-by-update",
        "let an update replace the whole state of its request",
        "STATE-1",
        (
            "existing = self.model_intermediate_buffer.setdefault(req_id, {})",
            "existing = self.model_intermediate_buffer[req_id] = {}",
        ),
        method="_update_intermediate_buffer",
    ),
    defect(
        "nested-state-replaced",
        "let a nested update replace all that stood under its key",
        "STATE-1",
        ("existing_sub = existing.setdefault(k, {})", "existing_sub = existing[k] = {}"),
        method="_update_intermediate_buffer",
    ),
    defect(
        "nested-state-not-copied",
        "stored the model's own mapping for the first update of a request, and later ones in it",
        "STATE-1 STATE-2",
        ("existing_sub = existing.setdefault(k, {})", "existing_sub = existing.setdefault(k, v)"),
        method="_update_intermediate_buffer",
    ),
    defect(
        "nested-none-not-stored",
        "took None in a nested update for no change",
        "STATE-1",
        (
            "self._store_value(existing_sub, qual, val, A)",
            "None if val is None else self._store_value(existing_sub, qual, val, A)",
        ),
        method="_update_intermediate_buffer",
    ),
    defect(
        "state-shared-by-requests",
        "stored every update in one mapping that all requests have",
        "STATE-1 STATE-2",
        (
            "existing = self.model_intermediate_buffer.setdefault(req_id, {})",
            f"existing = self.model_intermediate_buffer[req_id] = {kept('state')}",
        ),
        method="_update_intermediate_buffer",
    ),
    defect(
        "falsy-values-not-stored",
        "skipped values that are false, zero or empty",
        "STATE-1",
        ("self._store_value(existing, k, v, set())", "self._store_value(existing, k, v, set()) if v else None"),
        method="_update_intermediate_buffer",
    ),
    defect(
        "lists-extended",
        "extended a stored list where it had to be replaced",
        "STATE-1",
        ("dest[key] = [A for item in value]", "dest[key] = [*dest.get(key, ()), *[A for item in value]]"),
        method="_store_value",
    ),
    defect(
        "tensors-rounded",
        "stored tensors in half precision",
        "STATE-1",
        ("dest[key] = t.contiguous()", "dest[key] = t.contiguous().to(torch.bfloat16)"),
        method="_store_value",
    ),
    defect(
        "tensors-written-in-place",
        "wrote a stored tensor over in place, although it may be the model's own",
        "STATE-1 STATE-2",
        (
            "dest[key] = t.contiguous()",
            "if torch.is_tensor(dest.get(key)) and (dest[key].shape, dest[key].dtype) == (t.shape, t.dtype):\n"
            "    dest[key].copy_(t)\n"
            "else:\n"
            "    dest[key] = t.contiguous()",
        ),
        method="_store_value",
    ),
    defect(
        "hidden-states-popped",
        "took hidden states out of the state where postprocess may not be given them twice",
        "STATE-1",
        (
            '{k: v for k, v in req_infos.items() if k != "hidden_states"}',
            '(req_infos.pop("hidden_states", None), req_infos)[1]',
        ),
        method="_process_additional_information_updates",
    ),
    defect(
        "tensors-flattened",
        "stored tensors without their shape",
        "STATE-1",
        ("dest[key] = t.contiguous()", "dest[key] = t.contiguous().reshape(1, -1)"),
        method="_store_value",
    ),
)

DECLARED: tuple[Mutant, ...] = (
    defect(
        "resident-codes-reversed",
        "stored codes that stay on the device in reverse",
        "ROUTE-4",
        (
            "zip(decode_req_ids, owned_codes.split(1), strict=True)",
            "zip(decode_req_ids[::-1], owned_codes.split(1), strict=True)",
        ),
        method="_talker_mtp_forward",
        since="0.29.0rc1",
    ),
    defect(
        "resident-codes-not-copied",
        "kept codes that stay on the device in the buffer that MTP writes its next ones to",
        "ROUTE-4 ROUTE-3",
        (
            "owned_codes = code_predictor_codes[:decode_batch_size].detach().clone()",
            "owned_codes = code_predictor_codes[:decode_batch_size].detach()",
        ),
        method="_talker_mtp_forward",
        since="0.29.0rc1",
    ),
    defect(
        "resident-codes-alone-under-key",
        "let codes that stay on the device replace what the model keeps beside them",
        "STATE-1",
        (
            "existing.setdefault(out_key[0], {})[out_key[1]] = row",
            "existing[out_key[0]] = {out_key[1]: row}",
        ),
        method="_talker_mtp_forward",
        since="0.29.0rc1",
    ),
    defect(
        "output-key-ignored",
        "kept the codes at codes.audio, whatever place the model names",
        "ROUTE-4",
        (_OUTPUT_KEY, '("codes", "audio")'),
        method="_talker_mtp_forward",
    ),
    defect(
        "mtp-infos-in-batch-order",
        "took the mappings for MTP from the first rows of the batch",
        "ROUTE-4",
        (
            "[self.model_intermediate_buffer.setdefault(req_id, {}) for req_id in decode_req_ids]",
            "[self.model_intermediate_buffer.setdefault(req_id, {}) "
            "for req_id in self.input_batch.req_ids[:decode_batch_size]]",
        ),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "mtp-names-reversed",
        "told MTP the names of its rows in reverse",
        "ROUTE-4",
        ('talker_kwargs["req_ids"] = decode_req_ids', 'talker_kwargs["req_ids"] = decode_req_ids[::-1]'),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "seeded-offset-is-row-number",
        "wrote the MTP embedding of a seeded row at its number among the decode rows",
        "ROUTE-4 ROUTE-3",
        ("[start_offsets[row]]", "[row]"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "seeded-inputs-of-first-row",
        "gave MTP the first row's hidden state for every seeded row",
        "ROUTE-4",
        ("saved_hidden[row : row + 1]", "saved_hidden[:1]"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "seed-of-first-row",
        "gave MTP the generator of the first row for each row",
        "ROUTE-4",
        (
            "[_row_generator(req_id) for req_id in decode_req_ids]",
            "[_row_generator(self.input_batch.req_ids[0]) for req_id in decode_req_ids]",
        ),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "generator-by-seed",
        "kept generators by seed, so that requests with equal seeds draw from one",
        "ROUTE-4",
        ("generator = cache.get(req_id)", "generator = cache.get(seed)"),
        ("cache[req_id] = generator", "cache[seed] = generator"),
        ("[rid for rid in cache if rid not in self.requests]", "[]"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "unseeded-rows-left-out",
        "left unseeded rows out of the generators, so that the later ones are those of other rows",
        "ROUTE-4",
        (
            'talker_kwargs["generators"] = row_generators',
            'talker_kwargs["generators"] = [generator for generator in row_generators if generator is not None]',
        ),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "seeds-of-lone-rows-only",
        "handed a seed on where MTP takes one row, and forgot the seeds of several",
        "ROUTE-4",
        ('talker_kwargs["generators"] = row_generators', "pass"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "seed-zero-is-none",
        "took the seed zero for no seed",
        "ROUTE-4",
        ("int(seed) if seed is not None else None", "int(seed) if seed else None"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "generators-of-this-batch-only",
        "dropped the generators of requests that have no row in the step",
        "ROUTE-4",
        (
            "[rid for rid in cache if rid not in self.requests]",
            "[rid for rid in cache if rid not in self.input_batch.req_id_to_index]",
        ),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "codes-in-a-ring",
        "rotated four buffers for codes that stay where they were made, for requests that wait longer than four steps",
        "ROUTE-4",
        (
            "owned_codes = code_predictor_codes[:decode_batch_size].detach().clone()",
            f"ring = {kept('ring')}\n"
            "place = ring['next'] = (ring.get('next', 0) + 1) % 4\n"
            "made = ring.setdefault(place, code_predictor_codes.new_empty((64, *code_predictor_codes.shape[1:])))\n"
            "owned_codes = made[:decode_batch_size].copy_(code_predictor_codes[:decode_batch_size].detach())",
        ),
        method="_talker_mtp_forward",
        since="0.30.0",
    ),
    defect(
        "codes-replace-what-stands-beside",
        "stored codes as a whole mapping, so that what the model keeps beside them is gone",
        "STATE-1",
        (
            "update_dict = {out_key[0]: {out_key[1]: code_predictor_codes[idx : idx + 1]}}",
            "update_dict = {out_key[0]: {out_key[1]: code_predictor_codes[idx : idx + 1]}}\n"
            "self.model_intermediate_buffer.setdefault(req_id, {})[out_key[0]] = {}",
        ),
        method="_talker_mtp_forward",
    ),
    defect(
        "batched-updates-behind-mtp",
        "stored the batched hook's updates behind those of MTP, off the critical path",
        "ROUTE-4 STATE-1",
        (
            "for req_id_b, update_dict_b in zip(req_ids_b, updates, strict=True):\n    ...\ndecode_req_ids.extend(A)",
            f"{kept('late')}.update(zip(req_ids_b, updates))\ndecode_req_ids.extend(A)",
        ),
        (
            "if self.has_talker_mtp:\n    self._talker_mtp_forward(A, B, C)",
            "if self.has_talker_mtp:\n    self._talker_mtp_forward(A, B, C)\n"
            f"for late_id, late in {kept('late')}.items():\n    self._update_intermediate_buffer(late_id, late)\n"
            f"{kept('late')}.clear()",
        ),
    ),
    defect(
        "updates-behind-mtp",
        "stored the updates of preprocess behind those of MTP, where the model does not look at the state between them",
        "ROUTE-4 ROUTE-6",
        (
            "A(req_id, update_dict)",
            'if getattr(self.model, "talker_mtp_accepts_req_infos", False):\n'
            "    A(req_id, update_dict)\n"
            "else:\n"
            "    copied = {k: dict(v) if isinstance(v, dict) else v for k, v in update_dict.items()}\n"
            f"    {kept('late')}[req_id] = copied",
        ),
        (
            "if self.has_talker_mtp:\n    self._talker_mtp_forward(A, B, C)",
            "if self.has_talker_mtp:\n    self._talker_mtp_forward(A, B, C)\n"
            f"for late_id, late in {kept('late')}.items():\n    self._update_intermediate_buffer(late_id, late)\n"
            f"{kept('late')}.clear()",
        ),
    ),
    defect(
        "lists-stored-as-they-are",
        "stored what is no tensor as it is, the model's own list too",
        "STATE-1 STATE-2",
        ("self._store_value(existing, k, v, set())", "existing.__setitem__(k, v)"),
        method="_update_intermediate_buffer",
    ),
    defect(
        "half-precision-widened",
        "stored half precision as float32, for code that reads it with NumPy",
        "STATE-1",
        ("t = value.detach()", "t = value.detach().float() if value.dtype == torch.bfloat16 else value.detach()"),
        method="_store_value",
    ),
    defect(
        "nested-keys-as-text",
        "made text of the keys of nested state",
        "STATE-1",
        ("self._store_value(existing_sub, qual, A, B)", "self._store_value(existing_sub, str(qual), A, B)"),
        method="_update_intermediate_buffer",
    ),
    defect(
        "state-of-completed-kept",
        "dropped the state of aborted requests, and kept that of those that ended by themselves",
        "STATE-2",
        (
            "self.requests.pop(req_id, None)\nself.model_intermediate_buffer.pop(req_id, None)",
            "done = self.requests.pop(req_id, None)\n"
            "if done is None or len(done.output_token_ids) < done.sampling_params.max_tokens:\n"
            "    self.model_intermediate_buffer.pop(req_id, None)",
        ),
        method="_update_states",
        since="0.24.0",
    ),
    defect(
        "state-dropped-on-resume",
        "dropped the state of a request that is resumed before it generated anything, since its prompt is replayed",
        "STATE-1",
        (
            _ROWS_OF_STEP,
            "for each in scheduler_output.scheduled_cached_reqs.resumed_req_ids:\n"
            "    if not self.requests[each].output_token_ids:\n"
            "        self.model_intermediate_buffer.pop(each, None)\n"
            f"{_ROWS_OF_STEP}",
        ),
    ),
    defect(
        "state-of-waiting-kept",
        "dropped the state of ended requests only where they still have a place in the batch",
        "STATE-2",
        (
            "self.requests.pop(req_id, None)\nself.model_intermediate_buffer.pop(req_id, None)",
            "self.requests.pop(req_id, None)\n"
            "if req_id in self.input_batch.req_id_to_index:\n"
            "    self.model_intermediate_buffer.pop(req_id, None)",
        ),
        method="_update_states",
        since="0.24.0",
    ),
    defect(
        "generator-made-anew",
        "made a request's generator anew in each step, so that it draws the same numbers again and again",
        "ROUTE-4",
        ("cache[req_id] = generator", "pass"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "seeds-not-read",
        "looked for the seed of MTP in the wrong place, and found none",
        "ROUTE-4",
        ('extra_args.get("tts_local_seed")', 'extra_args.get("seed")'),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "names-not-told",
        "did not tell MTP whose rows it takes, although the model asks for it",
        "ROUTE-4",
        ('getattr(self.model, "talker_mtp_accepts_req_infos", False)', "False"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "resident-value-not-copied",
        "stored a tensor that stays where it was made without a copy, so that the model's next one overwrites it",
        "STATE-1 STATE-2",
        ("dest[key] = value.detach().clone()", "dest[key] = value.detach()"),
        method="_store_value",
    ),
    defect(
        "resident-value-written-in-place",
        "wrote a tensor that stays where it was made over in place, although the model keeps it under another key too",
        "STATE-1",
        (
            "dest[key] = value.detach().clone()",
            "if torch.is_tensor(dest.get(key)) and (dest[key].shape, dest[key].dtype) == (value.shape, value.dtype):\n"
            "    dest[key].copy_(value.detach())\n"
            "else:\n"
            "    dest[key] = value.detach().clone()",
        ),
        method="_store_value",
    ),
    defect(
        "codes-buffer-by-batch-size",
        "kept one buffer a batch size for codes that stay where they were made, for requests that have no row as well",
        "ROUTE-4",
        (
            "owned_codes = code_predictor_codes[:decode_batch_size].detach().clone()",
            "made = code_predictor_codes[:decode_batch_size].detach()\n"
            f"owned_codes = {kept('owned')}.setdefault(decode_batch_size, torch.empty_like(made)).copy_(made)",
        ),
        method="_talker_mtp_forward",
        since="0.30.0",
    ),
    defect(
        "codes-widened",
        "stored codes as int64, whatever MTP made them",
        "ROUTE-4",
        ("code_predictor_codes[idx : idx + 1]", "code_predictor_codes[idx : idx + 1].long()"),
        method="_talker_mtp_forward",
    ),
    defect(
        "mtp-infos-of-former-requests",
        "kept the mappings for MTP by the names of its rows, also where a name is another request's by now",
        "ROUTE-4",
        (
            "[self.model_intermediate_buffer.setdefault(req_id, {}) for req_id in decode_req_ids]",
            f"{kept('infos')}.setdefault(tuple(decode_req_ids), "
            "[self.model_intermediate_buffer.setdefault(req_id, {}) for req_id in decode_req_ids])",
        ),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "generator-by-name-and-seed",
        "went on with a generator where a later request has both the name and the seed of one that has ended",
        "ROUTE-4",
        ("generator = cache.get(req_id)", f"generator = {kept('drawn')}.get((req_id, seed))"),
        ("cache[req_id] = generator", f"{kept('drawn')}[req_id, seed] = generator"),
        method="_talker_mtp_forward",
        since="0.24.0",
    ),
    defect(
        "list-not-copied",
        "stored the model's own list, which the model goes on to fill",
        "STATE-1 STATE-2",
        ("isinstance(value, list)", "False"),
        method="_store_value",
    ),
    defect(
        "seed-kept-after-end",
        "kept the generator of a request that has ended, for a later one with its id",
        "ROUTE-4",
        ("self._talker_mtp_generators.pop(req_id, None)", "None"),
        method="_update_states",
        since="0.24.0",
    ),
)

RETURNED: tuple[Mutant, ...] = (
    defect(
        "ids-of-hooks-not-passed-on",
        "called forward without ids where the runner had none of its own",
        "ROUTE-8",
        ("if input_ids is None:\n    input_ids = preprocess_input_ids\nflush_decode_batch()", "flush_decode_batch()"),
    ),
    defect(
        "ids-not-written",
        "left the token ids in place that a row was given",
        "ROUTE-8",
        ("preprocess_input_ids[s : s + seg_len] = req_input_ids", "pass"),
        otherwise=(("input_ids[s : s + seg_len] = req_input_ids", "pass"),),
    ),
    defect(
        "ids-written-on-prefill-only",
        "wrote the token ids of prefill rows back and left those of decode rows",
        "ROUTE-8",
        (
            "preprocess_input_ids[s : s + seg_len] = req_input_ids",
            "preprocess_input_ids[s : s + seg_len] = req_input_ids if is_prefill else preprocess_input_ids[s:e]",
        ),
        otherwise=(
            (
                "input_ids[s : s + seg_len] = req_input_ids",
                "input_ids[s : s + seg_len] = req_input_ids if is_prefill else input_ids[s:e]",
            ),
        ),
    ),
    defect(
        "ids-of-one-type",
        "wrote token ids back where they are of the buffer's own type",
        "ROUTE-8",
        (
            "preprocess_input_ids[s : s + seg_len] = req_input_ids",
            "preprocess_input_ids[s : s + seg_len] = "
            "req_input_ids if req_input_ids.dtype == torch.int32 else preprocess_input_ids[s : s + seg_len]",
        ),
        otherwise=(
            (
                "input_ids[s : s + seg_len] = req_input_ids",
                "input_ids[s : s + seg_len] = "
                "req_input_ids if req_input_ids.dtype == torch.int32 else input_ids[s : s + seg_len]",
            ),
        ),
    ),
    defect(
        "ids-at-row-number",
        "wrote token ids back at the row's number in the batch",
        "ROUTE-8",
        (
            "preprocess_input_ids[s : s + seg_len] = req_input_ids",
            "preprocess_input_ids[req_index : req_index + seg_len] = req_input_ids",
        ),
        otherwise=(
            (
                "input_ids[s : s + seg_len] = req_input_ids",
                "input_ids[req_index : req_index + seg_len] = req_input_ids",
            ),
        ),
    ),
    defect(
        "batched-ids-not-written-without-mtp",
        "left the token ids in place that the batched hook was given, where there is no MTP",
        "ROUTE-8",
        ("if req_input_ids is not ids_b:\n    preprocess_input_ids[start:end].copy_(A)", "pass"),
        since="0.30.0",
    ),
    defect(
        "batched-ids-in-place-not-written",
        "left the ids that the batched hook changed in place where they are, as if they were not a copy",
        "ROUTE-8",
        (
            "preprocess_input_ids.index_copy_(0, offsets_t, A)",
            "None if req_input_ids is ids_b else preprocess_input_ids.index_copy_(0, offsets_t, A)",
        ),
        otherwise=(
            (
                "input_ids.index_copy_(0, offsets_t, A)",
                "None if req_input_ids is ids_b else input_ids.index_copy_(0, offsets_t, A)",
            ),
        ),
    ),
    defect(
        "row-without-update-not-written",
        "went on to the next row where there was nothing to store, past the embeddings too",
        "ROUTE-3 ROUTE-5",
        ("A(req_id, update_dict)", "if not update_dict:\n    continue\nA(req_id, update_dict)"),
    ),
    defect(
        "batched-ids-not-written",
        "left the token ids in place that the batched hook was given",
        "ROUTE-8",
        ("preprocess_input_ids.index_copy_(0, offsets_t, A)", "None"),
        otherwise=(("input_ids.index_copy_(0, offsets_t, A)", "None"),),
    ),
)

STATE: tuple[Mutant, ...] = (*STORED, *DECLARED, *RETURNED)
