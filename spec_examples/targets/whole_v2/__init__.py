"""The whole Model Runner V2 on a CPU: vLLM-Omni's ``OmniARModelRunner`` of V2 under its real scheduler.

- ``runner``: the class, over vLLM's own adaptation of V2 to a CPU
- ``__main__``: the worker's process with Triton's interpreter set up before anything imports Triton
- ``interpreter``: the Python that has Triton, and so can run it

The small environment has no Triton; that of ``make e2e`` does. What is judged here is also judged there, without the
whole runner, by ``spec_examples.targets.model_runner_v2``.
"""
