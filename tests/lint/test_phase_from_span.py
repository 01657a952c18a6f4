"""PHASE001: the phase is taken from the span length, in whatever spelling. And what looks like it, and is not."""

import pytest
from small_models import findings, hits, hook, rules

TWO_WAYS = "if {}:\n    return 1, 2, {{}}\nreturn 3, 4, {{}}"
FLAG = 'info["_omni_is_prefill"]'

CONDITIONS = [
    "input_ids.shape[0] > 1",
    "input_ids.shape[-1] != 1",
    "input_ids.numel() > 1",
    "input_ids.size(0) >= 2",
    "input_ids.size()[0] > 1",
    "len(input_ids) > 1",
    "len(input_ids.tolist()) > 1",
    "input_embeds.shape[0] > 1",
    "1 < input_ids.numel()",
    "int(input_ids.shape[0]) > 1",
    "max(input_ids.numel(), 1) > 1",
    "input_ids.numel() - 1 > 0",
    "input_ids.numel() - 1",
    "bool(input_ids.numel() - 1)",
    "not input_ids.numel() == 1",
    "not 0 < input_ids.numel() <= 1",
    "input_ids.numel() not in (1,)",
    "input_ids.shape != (1,)",
    "input_ids.reshape(-1).numel() > 1",
    "input_ids.view(-1).shape[0] > 1.5",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_branch_on_the_span(condition: str) -> None:
    assert rules(hook(TWO_WAYS.format(condition))) == ["PHASE001"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_same_the_other_way_round(condition: str) -> None:
    assert rules(hook(TWO_WAYS.format(f"not ({condition})"))) == ["PHASE001"]


@pytest.mark.parametrize(
    "body",
    [
        "span_len = input_ids.shape[0]\n" + TWO_WAYS.format("span_len > 1"),
        "span = int(input_ids.numel())\nn = span\nis_prefill = n > 1\n" + TWO_WAYS.format("is_prefill"),
        "(n,) = input_ids.shape\n" + TWO_WAYS.format("n > 1"),
        "n, width = input_embeds.shape\n" + TWO_WAYS.format("n > 1"),
        TWO_WAYS.format("(n := input_ids.numel()) > 1"),
        "return self.prompt(input_ids) if input_ids.numel() > 1 else self.step(input_ids)",
        "return (self.step, self.prompt)[input_ids.numel() > 1](input_ids)",
        "return {True: self.prompt, False: self.step}[input_ids.numel() > 1](input_ids)",
        "match input_ids.numel():\n    case 1:\n        return 1, 2, {}\n    case _:\n        return 3, 4, {}",
        "while input_ids.numel() > 1:\n    return 1, 2, {}\nreturn 3, 4, {}",
        "return self.model(input_ids, is_prefill=input_ids.numel() > 1)",
        "self.is_prefill = input_ids.numel() > 1\nreturn 1, 2, {}",
        "return 1, 2, {'is_decode': input_ids.numel() == 1}",
        "prefill = True\nif input_ids.numel() == 1:\n    prefill = False\nreturn 1, 2, {'state': prefill}",
        "input_ids.numel() > 1 and self.start(info)\nreturn 1, 2, {}",
    ],
)
def test_by_way_of_something_else(body: str) -> None:
    assert rules(hook(body)) == ["PHASE001"]


@pytest.mark.parametrize(
    ("condition", "helper", "of_module"),
    [
        ("self.many(input_ids)", "def many(self, ids):\n    return ids.numel() > 1", ""),
        ("self.many(input_ids.numel())", "@staticmethod\ndef many(span):\n    return span > 1", ""),
        ("Talker.many(span=len(input_ids))", "@staticmethod\ndef many(span):\n    return span > 1", ""),
        ("self.many(input_ids)", "@classmethod\ndef many(cls, ids):\n    return len(ids) > 1", ""),
        ("self.many(input_ids)", "def many(self, ids, least=1):\n    n = len(ids)\n    return n > 1", ""),
        ("many(len(input_ids))", "", "def many(n):\n    return n > 1"),
        ("self.count(input_ids) > 1", "def count(self, ids):\n    return int(ids.numel())", ""),
    ],
)
def test_by_way_of_a_helper(condition: str, helper: str, of_module: str) -> None:
    assert rules(hook(TWO_WAYS.format(condition), helper, before=of_module)) == ["PHASE001"]


def test_by_way_of_a_function_inside_the_hook() -> None:
    body = "def many():\n    return input_ids.numel() > 1\n"
    assert rules(hook(body + TWO_WAYS.format("many()"))) == ["PHASE001"]


def test_a_branch_in_a_helper() -> None:
    helper = "def branch(self, ids):\n    if len(ids) > 1:\n        return 1, 2, {}\n    return 3, 4, {}"
    assert hits(hook("return self.branch(input_ids)", helper)) == [("PHASE001", "len(ids) > 1")]


def test_by_way_of_an_object() -> None:
    before = "@dataclass\nclass Row:\n    span: int\n    prefill: bool\n\n    @classmethod\n    def of(cls, ids):\n"
    before += "        return cls(len(ids), prefill=len(ids) > 1)"
    source = hook("row = Row.of(input_ids)\n" + TWO_WAYS.format("row.prefill"), before=before)
    assert hits(source) == [("PHASE001", "len(ids) > 1")]


IN_A_BASE = """
class Base:
    def many(self, ids):
        return ids.numel() > 1


class Talker(Base):
    def preprocess(self, input_ids, input_embeds, **info):
        if self.many(input_ids):
            return 1, 2, {}
        return super().preprocess(input_ids, input_embeds, **info)
"""


def test_in_a_base_of_the_same_module() -> None:
    assert rules(IN_A_BASE) == ["PHASE001"]


REGISTERED = """
class Talker:
    def __init__(self):
        self.set_custom_preprocess(self.talker_preprocess)

    def talker_preprocess(self, input_ids, input_embeds, **info):
        if input_ids.numel() > 1:
            return 1, 2, {}
        return 3, 4, {}
"""


def test_a_hook_under_another_name() -> None:
    call = "self.set_custom_preprocess(self.talker_preprocess)"
    assert rules(REGISTERED) == ["PHASE001"]
    assert rules(REGISTERED.replace(call, "self.preprocess = self.talker_preprocess")) == ["PHASE001"]
    assert rules(REGISTERED.replace(call, "pass")) == []


@pytest.mark.parametrize(
    "condition",
    [
        f"{FLAG} or input_ids.numel() > 1",
        f"input_ids.numel() > 1 or {FLAG}",
        f"{FLAG} and input_ids.numel() > 1",
        f"input_ids.numel() > 1 and {FLAG}",
        f"input_ids.numel() == 1 or not {FLAG}",
    ],
)
def test_the_span_beside_the_flag(condition: str) -> None:
    """A verify row is no prompt, and a tail of one token is one."""
    assert rules(hook(TWO_WAYS.format(condition))) == ["PHASE001"]


@pytest.mark.parametrize(
    "body",
    [
        TWO_WAYS.format(FLAG),
        TWO_WAYS.format(f"not {FLAG} and input_ids.numel() == 1"),
        TWO_WAYS.format(f"input_ids.numel() == 1 and not {FLAG}"),
        f"if {FLAG} and input_ids.numel() > 1:\n    self.warm()\nreturn 1, 2, {{}}",
        f"if {FLAG}:\n    if input_ids.numel() > 1:\n        self.warm()\n    return 1, 2, {{}}\nreturn 3, 4, {{}}",
        f"if {FLAG}:\n    return 1, 2, {{}}\n" + TWO_WAYS.format("input_ids.numel() > 1"),
        f"if not {FLAG}:\n    return 1, 2, {{}}\n" + TWO_WAYS.format("input_ids.numel() > 1"),
        'if info["_omni_num_computed_tokens"] < info["_omni_prompt_len"]:\n    return 1, 2, {}\n'
        + TWO_WAYS.format("len(input_ids) == 1"),
        TWO_WAYS.format("input_ids.numel() == 0"),
        TWO_WAYS.format("input_ids.shape[0] <= 0"),
        TWO_WAYS.format("input_ids.numel()"),
        f'if input_ids.numel() != 1 and not {FLAG}:\n    raise ValueError("one at a time")\nreturn 1, 2, {{}}',
        "if input_ids.ndim > 1:\n    input_ids = input_ids.reshape(-1)\nreturn 1, 2, {}",
        'if input_ids.numel() == info["_omni_prompt_len"]:\n    self.whole += 1\nreturn 1, 2, {}',
        "if input_ids.numel() > 64:\n    self.warm()\nreturn 1, 2, {}",
        'codes = info["codes"]\nif codes.shape[0] > 1:\n    codes = codes[-1:]\nreturn 1, codes, {}',
        "if input_embeds.shape[-1] > 1:\n    self.warm()\nreturn 1, 2, {}",
    ],
)
def test_what_is_no_phase_from_the_span(body: str) -> None:
    assert rules(hook(body)) == []


def test_only_hooks_are_asked() -> None:
    """``forward`` gets a whole batch, and other things are called preprocess too."""
    forward = "class Model:\n    def forward(self, input_ids):\n        return 1 if input_ids.numel() > 1 else 2\n"
    images = "class Images:\n    def preprocess(self, images):\n        return 1 if len(images) > 1 else 2\n"
    assert rules(forward) == []
    assert rules(images) == []


def test_a_helper_for_other_modules() -> None:
    source = "def is_prefill_row(input_ids):\n    return input_ids.numel() > 1\n"
    assert hits(source) == [("PHASE001", "input_ids.numel() > 1")]
    assert rules("def is_prefill_row(info):\n    return info['_omni_is_prefill']\n") == []


def test_it_points_at_the_comparison_and_says_what_to_write() -> None:
    source = hook("é = 'é'; n = input_ids.numel(); wide = n > 1\n" + TWO_WAYS.format("wide"))
    (finding,) = findings(source)
    assert hits(source) == [("PHASE001", "n > 1")], "columns count characters"
    assert str(finding).startswith("model.py:3:48: PHASE001 phase-from-span: ")
    assert finding.message.endswith(f"branch on {FLAG}")
