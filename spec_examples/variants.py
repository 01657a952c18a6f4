"""Variants of the stub talker: each does or declares one thing that switches on something in a runner.

Apart from that they return what the stub returns. Each comes with the scalar hook alone, and with both hooks.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import nn

from spec_examples.scenario import MAX_LEN, MAX_REQUESTS
from spec_examples.talker import HIDDEN, VOCAB, BatchedTalker, ScalarTalker

RENAMED = VOCAB
"""What a renaming talker adds to each token id."""


class RenamingScalarTalker(ScalarTalker):
    """A talker that returns other token ids than it was given, as one with a vocabulary of its own does."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker; ids ``[n]`` out that no request has, int64 where the runner keeps int32."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return (ids + RENAMED).long(), rows, update


class RenamingBatchedTalker(RenamingScalarTalker, BatchedTalker):
    """The same through both hooks."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker; ids ``[n]`` out that no request has, int64 as well."""
        ids, *result = super().preprocess_decode_batch(input_ids, req_infos)
        return (ids + RENAMED).long(), *result


class RenamingScalarTalkerWithoutMtp(RenamingScalarTalker):
    """A renaming talker in which the runner finds no ``talker_mtp``."""

    talker_mtp = None  # type: ignore[assignment]


class RenamingBatchedTalkerWithoutMtp(RenamingBatchedTalker):
    """The same through both hooks."""

    talker_mtp = None  # type: ignore[assignment]


class SparingScalarTalker(ScalarTalker):
    """A talker that stores nothing, changes the ids that it is given in place, and lends the same tensors every time.

    From a request's second call on its embeddings are those that it was given, filled, where it was given any. It
    offers MTP inputs for single-token decode rows alone.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lent = torch.zeros(3, MAX_LEN, HIDDEN)

    def _lend(self, *values: torch.Tensor) -> list[torch.Tensor]:
        return [kept[: len(value)].copy_(value) for kept, value in zip(self.lent, values, strict=False)]

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, in tensors that exist already, with an empty update where it offers no MTP inputs."""
        _, rows, update = super().preprocess(input_ids, input_embeds, **info)
        embeds = self._lend(rows)[0] if input_embeds is None or rows[0, 2] == 1 else input_embeds.copy_(rows)
        single = input_ids.numel() == 1 and not info.get("_omni_is_prefill")
        offered = {"mtp_inputs": update["mtp_inputs"]} if single else {}
        return input_ids.add_(RENAMED), embeds, offered


class SparingBatchedTalker(SparingScalarTalker, BatchedTalker):
    """The same through both hooks, with MTP inputs that are lent as well."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker, in tensors that it fills again, with an empty update for each row."""
        _, *rows, updates = super().preprocess_decode_batch(input_ids, req_infos)
        return input_ids.add_(RENAMED), *self._lend(*rows), [{} for _ in updates]


class EqualScalarTalker(ScalarTalker):
    """A talker whose updates hold the phase keys of the row that comes next, as equal values of other types."""

    @staticmethod
    def _equal(info: dict[str, Any], span: int) -> dict[str, float | int]:
        prompt_len, start = info.get("_omni_prompt_len", 0), info.get("_omni_num_computed_tokens", 0) + span
        return {
            "_omni_prompt_len": float(prompt_len),
            "_omni_num_computed_tokens": float(start),
            "_omni_is_prefill": int(start < prompt_len),
        }

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, with the next row's keys in the update."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, rows, {**update, **self._equal(info, input_ids.numel())}


class EqualBatchedTalker(EqualScalarTalker, BatchedTalker):
    """The same through both hooks."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker, with the next row's keys in each update."""
        *result, updates = super().preprocess_decode_batch(input_ids, req_infos)
        return *result, [{**update, **self._equal(info, 1)} for update, info in zip(updates, req_infos, strict=True)]


class CarefulScalarTalker(ScalarTalker):
    """A talker that offers MTP inputs for decode rows alone, as it has to where a runner ignores the phase."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, without MTP inputs for a prefill row."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        if info.get("_omni_is_prefill"):
            del update["mtp_inputs"]
        return ids, rows, update


class CarefulBatchedTalker(CarefulScalarTalker, BatchedTalker):
    """The same through both hooks."""


class _Declaring(ScalarTalker):
    """What a model may declare about MTP, under the names of the shared runner and of Model Runner V2.

    The codes are kept under another name than ``codes.audio``, and stay where they were made; MTP is told whose rows
    it takes and with which seeds. Releases before 0.24.0 tell it neither. MTP writes the codes of all steps into one
    buffer, as a captured graph does.
    """

    talker_mtp_output_key = mtp_output_key = ("frames", "latest")
    gpu_resident_buffer_keys = frozenset({("frames", "latest")})
    talker_mtp_accepts_req_infos = mtp_accepts_req_infos = True
    talker_mtp_accepts_per_row_generators = mtp_accepts_per_row_generators = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.buffer = torch.zeros(MAX_REQUESTS, 2, dtype=torch.int64)

    def talker_mtp(
        self, input_ids: torch.Tensor, embeds: torch.Tensor, hidden: torch.Tensor, text: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As the stub's, with codes ``[n, 2]`` that the next call overwrites."""
        returned, codes = super().talker_mtp(input_ids, embeds, hidden, text)
        self.buffer[: len(codes)] = codes
        return returned, self.buffer[: len(codes)]


class DeclaringScalarTalker(_Declaring):
    """Declared state and MTP that knows its rows, behind the scalar hook."""


class DeclaringBatchedTalker(_Declaring, BatchedTalker):
    """The same behind both hooks."""


class CapturedScalarTalker(ScalarTalker):
    """MTP may be captured as a graph, and then takes padded batches.

    There is no graph on a CPU; ``spec_examples.targets.stand_ins`` pads the batches.
    """

    talker_mtp_graph_safe = True


class CapturedBatchedTalker(CapturedScalarTalker, BatchedTalker):
    """The same behind both hooks."""


class NamingScalarTalker(ScalarTalker):
    """The codes are kept under another name, and handed on as any other value of the state."""

    talker_mtp_output_key = mtp_output_key = ("frames", "latest")


class NamingBatchedTalker(NamingScalarTalker, BatchedTalker):
    """The same behind both hooks."""


CYCLE = 4
"""Tokens after which the generated text begins again: what n-grams can draft."""

BREAKS = (11, 18)
"""Positions at which another token stands than the cycle has: a draft that reaches one is rejected there."""


class RepeatingScalarTalker(ScalarTalker):
    """A talker whose text repeats ``CYCLE`` tokens, apart from ``BREAKS``, given a prompt that does so too.

    The last value of a hidden state is the position that it was computed for; the embeddings are the stub's.
    """

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        positions: torch.Tensor | None = None,
        intermediate_tensors: Any = None,
        inputs_embeds: torch.Tensor | None = None,
        **rest: Any,
    ) -> torch.Tensor:
        """The embeddings ``[tokens, HIDDEN]`` with each one's position in the last column."""
        hidden = super().forward(input_ids, positions, intermediate_tensors, inputs_embeds, **rest).clone()
        if positions is not None:
            hidden[:, -1] = positions[: hidden.shape[0]].to(hidden.dtype)
        return hidden

    def compute_logits(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[rows, VOCAB]``: the request's token that belongs at the next position."""
        first = 1 + (hidden_states[:, 4].long() - 1) // MAX_LEN * MAX_LEN
        position = hidden_states[:, -1].long() + 1
        breaks = torch.isin(position, torch.tensor(BREAKS))
        token = torch.where(breaks, first + MAX_LEN - 1, first + position % CYCLE)
        return nn.functional.one_hot(token.clamp(0, VOCAB - 1), VOCAB).float()


class RepeatingBatchedTalker(RepeatingScalarTalker, BatchedTalker):
    """The same through both hooks."""


class FollowingScalarTalker(ScalarTalker):
    """A talker that keeps hidden states behind ``forward``, beside what its hook stored under the same key."""

    has_postprocess = True

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker; the first call of a request stores what it began with."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        began = {} if "noted" in info else {"hidden_states": {"began": update["noted"]}}
        return ids, rows, {**update, **began}

    def postprocess(self, hidden_states: torch.Tensor, *_: Any, **info: Any) -> dict[str, Any]:
        """The rows ``[n, HIDDEN]`` of one request: the last of them, and how many there were up to now."""
        return {
            "hidden_states": {"last": hidden_states[-1].clone()},
            "heard": info.get("heard", 0) + len(hidden_states),
        }


class FollowingBatchedTalker(FollowingScalarTalker, BatchedTalker):
    """The same through both hooks."""


class _Hearing(ScalarTalker):
    """A talker that stores, at each call, the codes that MTP made for the request at its last step.

    The scalar one relies on the runner: they are those that it finds in the state. The batched one remembers them
    itself. On a runner that keeps codes as they are, both store the same.
    """

    remembers = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.names: dict[int, str] = {}
        self.made: dict[str, torch.Tensor] = {}

    def heard(self, info: dict[str, Any]) -> torch.Tensor | None:
        """The latest codes ``[2]`` of the request whose state ``info`` is, ``None`` before the first."""
        name = str(info.get("request_id", info.get("req_id", "")))
        self.names[zlib.crc32(name.encode()) % 65_521] = name
        if "noted" not in info:
            self.forget(name)
        outer, inner = getattr(self, "talker_mtp_output_key", ("codes", "audio"))
        found = self.made.get(name) if self.remembers else (info.get(outer) or {}).get(inner)
        return None if found is None else found.reshape(-1).clone()

    def forget(self, name: str) -> None:
        """A request begins: nothing was made for it."""
        self.made.pop(name, None)

    def remember(self, embeds: torch.Tensor, codes: torch.Tensor) -> None:
        """Keep the codes ``[n, 2]`` that MTP made of ``embeds``, which say whose they are."""
        for row, made in zip(embeds[:, 1].long().tolist(), codes, strict=True):
            if row in self.names:
                self.made[self.names[row]] = made.clone()


class KeepingScalarTalker(_Hearing):
    """A talker that keeps values of many kinds, in tensors, lists and dictionaries that it fills again.

    Beside the runner's codes, whose place it empties, it keeps something of its own. Codes are int32.
    """

    gpu_resident_buffer_keys = frozenset({("voice", "last"), ("voice", "before")})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.begins, self.last = torch.zeros(2), torch.zeros(2)
        self.calls: list[int] = []

    def kept(self, info: dict[str, Any], call: int) -> dict[str, Any]:
        """What is stored at a request's call with that number."""
        self.calls[:] = [call]
        self.last.fill_(call)
        fresh = torch.full((2,), float(call), dtype=torch.bfloat16)
        return {
            "codes": {"audio": None, "heard": self.heard(info)},
            "even": call % 2 == 0,
            "third": call % 3,
            "odd": "odd" if call % 2 else "",
            "calls": self.calls,
            "kinds": {
                "style": self.begins if "noted" not in info else fresh.float(),
                "half": fresh,
                "flags": fresh > 1,
                "number": torch.tensor(call),
                "turned": torch.arange(4.0).reshape(2, 2).t(),
                "empty": torch.empty(0),
                "pair": (call, 2.5),
                "deep": {"deeper": fresh.float()},
                ("of", "two"): call,
            },
            "voice": {"last": self.last, "before": (info.get("voice") or {}).get("last"), "calls": self.calls},
        }

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, with all of it in the update."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, rows, {**update, **self.kept(info, int(rows[-1, 2]))}

    def talker_mtp(
        self, input_ids: torch.Tensor, embeds: torch.Tensor, hidden: torch.Tensor, text: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As the stub's, with codes ``[n, 2]`` in int32."""
        returned, codes = super().talker_mtp(input_ids, embeds, hidden, text)
        codes = codes.to(torch.int32)
        self.remember(embeds, codes)
        return returned, codes


class KeepingBatchedTalker(KeepingScalarTalker, BatchedTalker):
    """The same through both hooks. A list or a tensor that serves every row of one call would be the last row's."""

    remembers = True

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker, with all of it in each update."""
        ids, rows, *rest, updates = super().preprocess_decode_batch(input_ids, req_infos)
        kept = []
        for row, info, update in zip(rows, req_infos, updates, strict=True):
            self.calls, self.last = [], torch.zeros(2)
            kept.append({**update, **self.kept(info, int(row[2]))})
        return ids, rows, *rest, kept


class DrawingScalarTalker(_Hearing, _Declaring):
    """A declaring talker whose MTP draws codes with the generator that it is handed, for the request that it is told.

    The id of a request with a seed begins with the seed and a dash. Where MTP is handed neither names nor generators,
    as before 0.24.0, the codes are the stub's.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.generators: dict[str, torch.Generator] = {}

    def forget(self, name: str) -> None:
        """A request begins to draw."""
        super().forget(name)
        self.generators.pop(name, None)

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, with the latest codes in the update, beside the place of the runner's."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, rows, {**update, "frames": {"heard": self.heard(info)}}

    def talker_mtp(
        self, input_ids: torch.Tensor, embeds: torch.Tensor, hidden: torch.Tensor, text: torch.Tensor, **handed: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As the declaring talker's; codes ``[n, 2]``: whose they are, and what was drawn for it."""
        returned, codes = super().talker_mtp(input_ids, embeds, hidden, text)
        names = handed.get("req_ids")
        generators = handed.get("generators") or [handed.get("generator")] * len(codes)
        if self.remembers and (names or any(generators)):
            names = [self.names[row] for row in embeds[:, 1].long().tolist()]
            generators = [self.own_generator(name) for name in names]
        for row, (code, generator) in enumerate(zip(codes, generators, strict=True)):
            if names:
                code[0] = zlib.crc32(names[row].encode())
            if generator is not None:
                code[1] = torch.randint(9999, (1,), generator=generator).item()
        self.remember(embeds, codes)
        return returned, codes

    def own_generator(self, name: str) -> torch.Generator | None:
        """A generator that is this request's alone from its beginning, ``None`` where its id begins with no seed."""
        seed = name.partition("-")[0]
        if seed.isdecimal() and name not in self.generators:
            self.generators[name] = torch.Generator().manual_seed(int(seed))
        return self.generators.get(name)


class DrawingBatchedTalker(DrawingScalarTalker, BatchedTalker):
    """The same through both hooks, with generators and names of its own: what it draws is what a request has to get."""

    remembers = True

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker, with the latest codes in each update."""
        *result, updates = super().preprocess_decode_batch(input_ids, req_infos)
        heard = [{"frames": {"heard": self.heard(info)}} for info in req_infos]
        return *result, [{**update, **frames} for update, frames in zip(updates, heard, strict=True)]
