"""What a model gets where a promise is broken, a sentence each: for people who ask what a defect would do to theirs."""

EFFECTS: dict[str, str] = {
    "FIELD-1": "It takes another number for the length of its prompt: slices of its prompt embeddings shift.",
    "FIELD-2": "Its offset into the prompt is wrong: it returns embeddings of other positions, without an error.",
    "FIELD-3": "It takes prompt for decode or decode for prompt: teacher-forced text advances early, or not at all.",
    "FIELD-4": "It acts on values of an earlier step, or on its own: right at first, wrong once anything changed.",
    "FIELD-5": "It acts on another request's values: right for each request alone, wrong for two in one step.",
    "FIELD-6": "A resumed or growing request keeps its old phase: the replayed prompt is treated as generated.",
    "FIELD-7": "What it writes into its own mapping comes back as the runner's word in the next step.",
    "HOOK-1": "Its `preprocess` lacks a keyword: it raises, or falls back to the span without a word.",
    "HOOK-2": "Entries of its batched hook belong to other rows or lack keys: requests swap or lose their state.",
    "ROUTE-1": "A row reaches the wrong hook or none: decode work is done on a prompt, or the reverse.",
    "ROUTE-2": "MTP runs on rows that are none of its own, or on none: codes appear for prompts, or no audio comes.",
    "ROUTE-3": "A prompt embedding is lost: the request goes on from an audio embedding in its place.",
    "ROUTE-4": "A request gets the embedding or the codes of another: audio of one voice ends in another's output.",
    "ROUTE-5": "A verified or replayed span is taken for one token: positions get embeddings that are not theirs.",
    "ROUTE-6": "Offering the batched hook changes what the model says, or loses what it stored.",
}
