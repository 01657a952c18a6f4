"""What the real scheduler does to requests, as named scenarios: pages show them, and figures are drawn from them.

``record`` runs them on the installed runner and keeps each trace beside this file, ``draw`` makes a figure of each. A
test runs them again, so that no figure shows what no longer happens.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from spec_examples.scenario import Growth, Limits, Plant, Request, Scenario
from spec_examples.trace import Environment, Trace

RECORDED = Path(__file__).with_name("recorded")
"""``NAME.json.gz``: the trace of each story, as the release in ``Trace.environment`` made it."""


@dataclass(frozen=True)
class Story:
    """One schedule. ``name`` is that of its files, ``title`` what the figure is called.

    ``command`` are the options of ``phase-contract trace`` that show the same, where there are such options.
    """

    name: str
    title: str
    scenario: Scenario
    command: str = ""

    @property
    def file(self) -> Path:
        """Where its trace is kept."""
        return RECORDED / f"{self.name}.json.gz"


TALKERS = "spec_examples.stories.talkers"

STORIES = (
    Story(
        "split-prompt",
        "A prompt of five tokens, cut by a budget of four, beside a prompt of one token",
        Scenario(requests=(Request(5), Request(1)), limits=Limits(budget=4)),
        "--request 5 --request 1 --budget 4",
    ),
    Story(
        "mixed-steps",
        "Chunks, tails and decode rows side by side in one step",
        Scenario(
            requests=(Request(5, 4), Request(9, 3), Request(2, 5), Request(1, 4, arrives=3)), limits=Limits(budget=4)
        ),
        "--request 5:4 --request 9:3 --request 2:5 --request 1:4@3 --budget 4",
    ),
    Story(
        "id-comes-back",
        "A request is aborted, and its id comes back with another prompt",
        Scenario(
            requests=(Request(11, 3, "long"), Request(3, 9, "again", aborts=4), Request(2, 3, "again", arrives=4)),
            limits=Limits(budget=4),
        ),
    ),
    Story(
        "prefix-cache",
        "Two requests whose prompts begin as one that was served before",
        Scenario(
            requests=(
                Request(9, 2),
                Request(12, 2, arrives=2, same_as="a", same_tokens=9),
                Request(9, 2, arrives=2, same_as="a", same_tokens=9),
            ),
            limits=Limits(budget=16, prefix_caching=True),
        ),
    ),
    Story(
        "preempted",
        "A request is preempted and comes back as one row that reaches past its prompt",
        Scenario(requests=(Request(5, 8), Request(5, 8)), limits=Limits(budget=8, blocks=6)),
        "--request 5:8 --request 5:8 --budget 8 --block-size 4 --blocks 6",
    ),
    Story(
        "replayed-in-pieces",
        "Three requests share seven blocks, and what was generated is replayed three tokens at a time",
        Scenario(
            requests=(Request(3, 14), Request(4, 12), Request(2, 12)), limits=Limits(budget=3, sequences=3, blocks=7)
        ),
        "--request 3:14 --request 4:12 --request 2:12 --budget 3 --sequences 3 --blocks 7",
    ),
    Story(
        "replayed-singly",
        "A preempted request is replayed one token at a time, and MTP takes a token that it had taken before",
        Scenario(
            requests=(Request(2, 4), Request(2, 4)),
            limits=Limits(budget=3, sequences=2, blocks=3, long_prefill_threshold=1),
        ),
    ),
    Story(
        "drafts",
        "Drafts of three tokens are verified, and some of them rejected",
        Scenario(
            f"{TALKERS}:Repeating",
            requests=(Request(9, 12, cycle=4), Request(5, 5)),
            limits=Limits(budget=16, speculative_tokens=3),
        ),
    ),
    Story(
        "growing-prompt",
        "A prompt that grows twice while another request decodes",
        Scenario(
            requests=(Request(5, 3, grows=(Growth(6, 4, 2), Growth(1, 8, 2))), Request(3, 9)), limits=Limits(budget=4)
        ),
    ),
    Story(
        "asynchronous",
        "Each step is made before the output of the one before it is known",
        Scenario(
            requests=(Request(5, 4), Request(1, 3), Request(10, 3)), limits=Limits(budget=8, async_scheduling=True)
        ),
    ),
    Story(
        "asynchronous-drafts",
        "Drafts in asynchronous steps: after a rejection the progress that is passed is too high",
        Scenario(
            f"{TALKERS}:Skipping",
            requests=(Request(5, 14), Request(2, 6)),
            limits=Limits(budget=16, async_scheduling=True, speculative_tokens=3),
        ),
    ),
    Story(
        "embeddings",
        "A prompt given as embeddings without token ids, beside one with ids",
        Scenario(requests=(Request(2), Request(6, embeds=True)), limits=Limits(budget=4)),
    ),
    Story(
        "planted",
        "Wrong phase keys stand in intermediate state before the second and the third step",
        Scenario(
            requests=(Request(5, 3), Request(2, 3)),
            limits=Limits(budget=4),
            planted=(Plant("a", 1, 99, 98, False), Plant("b", 2, 99, 0, True)),
        ),
    ),
)
"""In the order of the gallery."""


def story(name: str) -> Story:
    """The story of that name. Raises ``KeyError`` with the names that there are."""
    for one in STORIES:
        if one.name == name:
            return one
    raise KeyError(f"no story {name!r}; there are {', '.join(one.name for one in STORIES)}")


def recorded(one: Story) -> Trace:
    """The trace that was kept by ``python -m spec_examples.stories.record``.

    Raises ``ValueError`` with the file's name where there is none, or it is damaged.
    """
    try:
        return Trace.from_json(gzip.decompress(one.file.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        again = f"run python -m spec_examples.stories.record {one.name}"
        raise ValueError(f"{one.file.name}: no recorded story ({' '.join(str(error).split())}): {again}") from error


def kept(trace: Trace) -> Trace:
    """What of a trace is kept: all but the versions of what lies beside the release, which differ between machines."""
    here = trace.environment
    return replace(trace, environment=Environment(here.vllm_omni, runner=here.runner))
