"""``python -m spec_examples.stories.record [NAME…]``: run the stories on the installed runner and keep their traces."""

from __future__ import annotations

import gzip
import sys

from spec_examples.running import current
from spec_examples.stories import RECORDED, STORIES, kept, story


def main(names: list[str]) -> None:
    """Renew the named stories, all of them without a name."""
    RECORDED.mkdir(exist_ok=True)
    for one in map(story, names) if names else STORIES:
        trace = kept(current().session.run(one.scenario))
        one.file.write_bytes(gzip.compress(trace.to_json().encode(), mtime=0))
        ended = f", then {trace.error}" if trace.error else ""
        sys.stdout.write(f"{one.name}: {len(trace.steps)} steps on vLLM-Omni {trace.environment.vllm_omni}{ended}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
