"""The contract on a real talker: two runs of one request, its prompt cut differently, have to be the same to the bit.

- ``probe``: records what crosses the boundary of any model on any runner, as a ``Trace``
- ``run``: what one run came to: trace, tokens, codes, audio
- ``comparison``: a chunked run against an unchunked one
- ``guards``: the runner's guards, taken away one at a time
- ``tiny``: a Qwen3-TTS of random weights, made on the spot, and its pipeline on a CPU
- ``experiments``: a run as plain data, and the process that does it
- ``divergences``: where the newest release departs from what the contract promises to make possible
- ``record``: writes down what those runs come to

``run``, ``comparison`` and ``experiments`` import no vLLM; the others are imported in the process of a run only.
"""
