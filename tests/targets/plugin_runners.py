"""Runners as a plugin would bring them: one that does as its prompt's length says, and two that never get that far."""

import os
import sys
import time

import torch
from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner

CONFORM, RAISE, PRINT, EXIT, HANG, EAT = range(3, 9)
"""Prompt lengths. The control's prompt has two tokens."""


class RaisesEarly(GPUARModelRunner):
    def __init__(self, *arguments, **options):
        raise RuntimeError("no\nsuch device")


class ExitsEarly(GPUARModelRunner):
    def execute_model(self, *arguments, **options):
        sys.stderr.write("going away\n")
        sys.stderr.flush()
        os._exit(3)


class Plugin(GPUARModelRunner):
    def execute_model(self, scheduler_output, *arguments, **options):
        for new in scheduler_output.scheduled_new_reqs:
            behave(len(new.prompt_token_ids))
        return super().execute_model(scheduler_output, *arguments, **options)


def behave(how):
    if how == RAISE:
        raise RuntimeError("lost a row")
    if how == PRINT:
        print('{"trace": null}')
        os.write(1, b"\x00\xffgarbage\n" * 1000)
        assert sys.stdin.read() == ""
    if how == EXIT:
        os._exit(7)
    if how == HANG:
        time.sleep(600)
    while how == EAT:
        EATEN.append(torch.ones(1 << 26))


EATEN: list = []

NOT_A_CLASS = 3
