"""A plugin as it would stand outside of vLLM-Omni: model runners of its own."""
