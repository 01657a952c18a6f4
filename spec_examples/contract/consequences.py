"""What a model suffers where a promise is broken: a sentence each, for the person who changed a runner."""

from __future__ import annotations

CONSEQUENCES: dict[str, str] = {
    "FIELD-1": "a model that cuts its prompt by the length takes the wrong slice, or branches on a wrong type",
    "FIELD-2": "a model that slices its prompt by its progress repeats or skips prompt embeddings",
    "FIELD-3": "a model takes its decode branch on a prompt, or its prefill branch on a generated token",
    "FIELD-4": "a model acts on the phase of an earlier step, and its state runs ahead or falls behind",
    "FIELD-5": "a model applies one request's phase to another request's embeddings",
    "FIELD-6": "a resumed or streaming request is taken for decode, and its new prompt is never embedded",
    "FIELD-7": "what a model writes into its own state changes how the runner routes its next step",
    "HOOK-1": "a model that indexes a phase key stops with a KeyError, one that asks by get() guesses its phase",
    "HOOK-2": "a batched hook reads the phase of another row, or gets a prefill row that it takes for decode",
    "STATE-1": "a model loses count of its frames or its text, or counts one twice",
    "STATE-2": "a request goes on with the voice, text or frames of another one",
    "ROUTE-1": "a row reaches a hook that was not written for it, or none, and the step is wrong or stops",
    "ROUTE-2": "MTP generates codes from a row that is no single decode token, and they enter the audio",
    "ROUTE-3": "a prompt token's embedding is replaced by a generated one, and the speech differs without an error",
    "ROUTE-4": "a decode row speaks with the embedding or the codes of another request",
    "ROUTE-5": "verified draft tokens lose their own embeddings to an MTP embedding",
    "ROUTE-6": "the same request gives other audio when its row is batched",
    "ROUTE-8": "forward sees the runner's token ids where the model replaced them by its own",
}
"""By clause: every promise has one."""
