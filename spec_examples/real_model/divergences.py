"""Two divergences of the newest release, each with its smallest run, and what that run shows.

**A preemption destroys the prompt** (``LostPrompt``). A request is preempted while it decodes and comes back as one
prefill row that begins at 0 and reaches past the prompt. Every row of it is the padding embedding.

- the contract: kept. The three fields say prefill at 0 computed tokens, which is so; no MTP is called for the row
- the runner: keeps a request's intermediate state over the preemption, and what the model counted in it with it
- the model: takes its place in the prompt from a counter of its own (``talker_prefill_offset``) and not from
  ``_omni_num_computed_tokens``; the counter is past the prompt's end, and what lies beyond is padding. Rows beyond the
  prompt it could not rebuild from the fields alone: what MTP put there is not kept

**A frame of one request is delivered in another's output** (``LeakedFrame``). A resumed request whose chunk lies wholly
in generated tokens is a decode row of several tokens, beside another request that decodes one.

- the contract: kept. It says that the row is decode, and not MTP eligible
- the model: returns no codes for such a row, so those of an earlier chunk still stand in its state, more or fewer than
  the row has tokens; it delivers what stands there, joined over the batch (``make_omni_output``)
- the runner: cuts what was joined by request only where it has as many rows as the step has tokens, and hands all of it
  to every request otherwise (``to_payload_element``)

Seen on vLLM-Omni 0.30.0 with its Qwen3-TTS talker. Imports no vLLM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spec_examples.contract.rows import takes_mtp
from spec_examples.real_model.comparison import by_position
from spec_examples.real_model.experiments import TinyExperiment, Utterance
from spec_examples.real_model.run import Frame, Run, codes, passes, tokens

UNCUT, PLENTY = 64, 64
"""A budget that cuts no prompt, and blocks enough for everyone: the run without preemption."""

_TWO = (Utterance("a", "hi you", 19), Utterance("b", "hello", 19))
PREEMPTED = TinyExperiment(_TWO, budget=UNCUT, blocks=4)
"""Prompts of 16 and 15 tokens; at step 19 a needs a block that b has to give up. With 18 tokens each, it does not."""
NOT_PREEMPTED = TinyExperiment(_TWO, budget=UNCUT, blocks=PLENTY)

_THREE = (Utterance("a", "hi you", 22), Utterance("c", "hi yos", 19), Utterance("b", "hello", 19))
RESUMED_IN_CHUNKS = TinyExperiment(_THREE, budget=20, blocks=5)
"""b is preempted at step 19, comes back when c has ended, and its second chunk begins 4 tokens past its prompt."""
NOT_RESUMED = TinyExperiment(_THREE, budget=UNCUT, blocks=PLENTY)


@dataclass(frozen=True)
class LostPrompt:
    """What a preempted request came back with.

    ``prompt_len``, ``computed`` and ``span`` are the resumed row; ``wrong`` how many of its embeddings differ from
    those of the same positions without preemption, ``padding`` how many are the padding embedding. The first sampled
    token that differs is number ``first_wrong_token``; ``frames_lost`` is how many codec frames fewer MTP made.
    """

    request: str
    step: int
    prompt_len: int
    computed: int
    span: int
    wrong: int
    padding: int
    first_wrong_token: int | None
    frames_lost: int


def lost_prompts(without: Run, preempted: Run) -> tuple[LostPrompt, ...]:
    """What each preempted request of a run came back with, against a run of the same requests without preemption."""
    padding = preempted.notes["tts_pad_embed"]
    found = []
    for request in sorted({r for step in preempted.trace.steps for r in step.preempted}):
        ours = by_position(without, request)
        gone = next(n for n, step in enumerate(preempted.trace.steps, start=1) if request in step.preempted)
        back = next(at for at in passes(preempted, request) if at.number > gone)
        expected = [ours[back.row.computed + offset][1] for offset in range(back.row.span)]
        said, wanted = tokens(preempted, request), tokens(without, request)
        found.append(
            LostPrompt(
                request=request,
                step=back.number,
                prompt_len=back.row.prompt_len,
                computed=back.row.computed,
                span=back.row.span,
                wrong=sum(a != b for a, b in zip(back.embeddings, expected, strict=True)),
                padding=sum(embedding == padding for embedding in back.embeddings),
                first_wrong_token=next((n for n, (a, b) in enumerate(zip(said, wanted, strict=False)) if a != b), None),
                frames_lost=len(codes(without, request)) - len(codes(preempted, request)),
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class LeakedFrame:
    """A codec frame of ``owner`` in the output of ``receiver``: its row of ``span`` tokens got ``rows`` frames."""

    step: int
    owner: str
    receiver: str
    frame: Frame
    span: int
    rows: int


def leaked_frames(run: Run) -> tuple[LeakedFrame, ...]:
    """Every frame that MTP made for one request of a step and the runner delivered in the output of another."""
    return tuple(_leaked(run))


def _leaked(run: Run) -> Iterator[LeakedFrame]:
    for at in passes(run):
        delivered = run.delivered[at.number - 1].get(at.row.request, ())
        if len(delivered) == at.row.span:
            continue
        for owner in at.step.rows:
            frame = at.step.codes.get(owner.request, ())
            if owner.request != at.row.request and takes_mtp(owner) and frame in delivered:
                yield LeakedFrame(at.number, owner.request, at.row.request, frame, at.row.span, len(delivered))
