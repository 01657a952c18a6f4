"""PHASE002 to PHASE004: a field that is absent is no error, but guessed or given a default."""

import pytest
from small_models import hits, hook, rules

WAYS = "\nif is_prefill:\n    return 1, 2, {}\nreturn 3, 4, {}"
RAW = 'raw = info.get("_omni_is_prefill")\n'
STRICT = 'is_prefill = info["_omni_is_prefill"]'
SEEN = 'seen = info.get("_omni_num_computed_tokens")\n'

PHASE = "def phase(self, raw, span):\n    if raw is None:\n        return span > 1\n    return raw"
ASKED = """
def asked(self, info, ids):
    raw = info.get("_omni_is_prefill")
    if isinstance(raw, bool):
        return raw
    try:
        return info["_omni_num_computed_tokens"] < info["_omni_prompt_len"]
    except KeyError:
        return ids.shape[0] > 1
"""


@pytest.mark.parametrize(
    "body",
    [
        'is_prefill = info.get("_omni_is_prefill", input_ids.numel() > 1)',
        'span = input_ids.shape[0]\nis_prefill = bool(info.get("_omni_is_prefill", span > 1))',
        'is_prefill = info.get("_omni_is_prefill", self.count(input_ids) > 1)',
        RAW + "is_prefill = raw if raw is not None else input_ids.numel() > 1",
        RAW + "is_prefill = input_ids.numel() > 1 if raw is None else bool(raw)",
        RAW + "if isinstance(raw, bool):\n    is_prefill = raw\nelse:\n    is_prefill = input_ids.numel() > 1",
        RAW + "is_prefill = raw\nif raw is None:\n    is_prefill = input_ids.numel() > 1",
        f"try:\n    {STRICT}\nexcept KeyError:\n    is_prefill = input_ids.numel() > 1",
        f'if "_omni_is_prefill" in info:\n    {STRICT}\nelse:\n    is_prefill = len(input_ids) > 1',
        f'is_prefill = len(input_ids) > 1\nif "_omni_is_prefill" in info:\n    {STRICT}',
        RAW + "if raw is None:\n    if input_ids.numel() > 1:\n        return 5, 6, {}\n    return 7, 8, {}\n" + STRICT,
        f"try:\n    {STRICT}\nexcept KeyError:\n    return 5 if input_ids.numel() > 1 else 6",
        RAW + "is_prefill = self.phase(raw, input_ids.numel())",
        "is_prefill = self.asked(info, input_ids)",
        'is_prefill = getattr(info, "_omni_is_prefill", len(input_ids) > 1)',
    ],
)
def test_the_span_where_the_flag_is_absent(body: str) -> None:
    assert rules(hook(body + WAYS, PHASE, ASKED)) == ["PHASE002"]


@pytest.mark.parametrize(
    "body",
    [
        'is_prefill = info.get("_omni_is_prefill", False)',
        'is_prefill = info.get("_omni_is_prefill", True)',
        'is_prefill = info.get("_omni_is_prefill")',
        'is_prefill = bool(info.get("_omni_is_prefill"))',
        'is_prefill = info.get("_omni_is_prefill") is True',
        'is_prefill = info.get("_omni_is_prefill") == True',
        'is_prefill = not info.get("_omni_is_prefill") is False',
        RAW + "is_prefill = raw is not None and raw",
        RAW + "is_prefill = raw if raw is not None else False",
        f"try:\n    {STRICT}\nexcept KeyError:\n    is_prefill = False",
        f'is_prefill = False\nif "_omni_is_prefill" in info:\n    {STRICT}',
        'is_prefill = "_omni_is_prefill" in info and info["_omni_is_prefill"]',
        "is_prefill = info.get(FLAG, False)",
    ],
)
def test_a_fixed_phase_where_the_flag_is_absent(body: str) -> None:
    assert rules(hook(body + WAYS, before='FLAG = "_omni_is_prefill"')) == ["PHASE003"]


WITH_PARAMETERS = """
class Talker:
    def preprocess(self, input_ids, input_embeds, *, {}, {}, **info):
        if _omni_is_prefill:
            return 1, _omni_num_computed_tokens, {{}}
        return 3, 4, {{}}
"""


def test_a_parameter_with_a_default() -> None:
    defaults = WITH_PARAMETERS.format("_omni_is_prefill=False", "_omni_num_computed_tokens=0")
    assert rules(defaults) == ["PHASE003", "PHASE004"]
    assert rules(WITH_PARAMETERS.format("_omni_is_prefill", "_omni_num_computed_tokens")) == []


@pytest.mark.parametrize(
    "body",
    [
        'offset = info.get("_omni_num_computed_tokens", 0)',
        'offset = int(info.get("_omni_num_computed_tokens", 0) or 0)',
        'offset = int(info.get("_omni_num_computed_tokens") or 0)',
        'offset = info.get("_omni_num_computed_tokens", info.get("offset"))',
        'offset = info.get("_omni_prompt_len", input_ids.numel())',
        SEEN + "offset = seen if seen is not None else 0",
        SEEN + "if seen is None:\n    seen = 0\noffset = seen",
        SEEN + "offset = 0\nif seen is not None:\n    offset = int(seen)",
        'offset = 0\nif "_omni_num_computed_tokens" in info:\n    offset = info["_omni_num_computed_tokens"]',
        'offset = getattr(info, "_omni_num_computed_tokens", 0)',
    ],
)
def test_progress_that_is_made_up(body: str) -> None:
    assert rules(hook(body + "\nreturn 1, self.prompt[offset:], {}")) == ["PHASE004"]


@pytest.mark.parametrize(
    "body",
    [
        STRICT,
        RAW + 'if raw is None:\n    raise RuntimeError("no flag: upgrade the runner")\nis_prefill = raw',
        RAW + 'if not isinstance(raw, bool):\n    raise RuntimeError("no flag")\nis_prefill = raw',
        RAW + "assert raw is not None\nis_prefill = raw",
        f'if "_omni_is_prefill" not in info:\n    raise RuntimeError("no flag")\n{STRICT}',
        f'try:\n    {STRICT}\nexcept KeyError as error:\n    raise RuntimeError("no flag") from error',
        'is_prefill = info["_omni_num_computed_tokens"] < info["_omni_prompt_len"]',
        'is_prefill = info["_omni_prompt_len"] > info["_omni_num_computed_tokens"]',
        'if info.get("_omni_is_prefill") or self.broken:\n    raise RuntimeError("never")\n' + STRICT,
        SEEN + 'if seen is None:\n    raise KeyError("no progress")\nis_prefill = seen < 3',
        'is_prefill = info["_omni_num_computed_tokens"] == 0',
        STRICT + '\nstart = info.get("_omni_num_computed_tokens", 0) or 0',
        STRICT + '\nend = info.get("_omni_prompt_len")\nstart = end if end is not None else 0',
        'is_prefill = info.get("_omni_is_prefill", MISSING)\nif is_prefill is MISSING:\n    raise KeyError("no flag")',
        'is_prefill = info.get("_omni_is_prefill", info["_omni_num_computed_tokens"] < info["_omni_prompt_len"])',
    ],
)
def test_absence_that_is_an_error(body: str) -> None:
    assert rules(hook(body + WAYS, before="MISSING = object()")) == []


def test_the_other_two_are_there_where_the_flag_is() -> None:
    """No runner passes the flag alone; Model Runner V2 may pass progress without it."""
    body = (
        'if info.get("_omni_is_prefill"):\n    return 1, info.get("_omni_num_computed_tokens", 0), {}\nreturn 3, 4, {}'
    )
    assert rules(hook(body)) == ["PHASE003"]
    body = 'at = info["_omni_num_computed_tokens"]\nreturn 1, info.get("_omni_prompt_len", at), {}'
    assert rules(hook(body)) == ["PHASE004"]


def test_the_guess_is_pointed_at() -> None:
    guess = "if isinstance(raw, bool):\n    is_prefill = raw\nelse:\n    is_prefill = len(input_ids) > 1"
    assert hits(hook(RAW + guess + WAYS)) == [("PHASE002", "len(input_ids) > 1")]
    inline = 'is_prefill = info.get("_omni_is_prefill", len(input_ids) > 1)'
    assert hits(hook(inline + WAYS)) == [("PHASE002", inline.partition("= ")[2])]


def test_functions_that_no_hook_calls_read_fields_too() -> None:
    """A helper in a module of its own is handed the mapping; a table of results is none."""
    helper = "def phase(info):\n    return 'prefill' if info.get('_omni_is_prefill', False) else 'decode'\n"
    assert rules(helper) == ["PHASE003"]
    assert rules("def shown(row):\n    return row.fields.get('_omni_is_prefill', '')\n") == []
