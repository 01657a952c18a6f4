"""A Qwen3-TTS CustomVoice of random weights, made on the spot: vLLM-Omni's own model code, small enough for a CPU.

- ``checkpoint``: the folder, as a published checkpoint has it
- ``weights``: its two weight files
- ``pipeline``: talker and code2wav, each behind its own scheduler and runner
"""
