"""PHASE005 to PHASE010: fields that are written, positions and phases that are kept, and rows of one token."""

import pytest
from small_models import hits, hook, rules

FLAG = 'info["_omni_is_prefill"]'
PROMPT_OR_STEP = f"if {FLAG}:\n    return input_ids, self.prompt, {{}}\n"


@pytest.mark.parametrize(
    "body",
    [
        'info["_omni_is_prefill"] = False\nreturn 1, 2, {}',
        'return 1, 2, {"_omni_num_computed_tokens": 5}',
        'return 1, 2, {"meta": {"_omni_prompt_len": 5}}',
        'info.pop("_omni_is_prefill")\nreturn 1, 2, {}',
        'del info["_omni_is_prefill"]\nreturn 1, 2, {}',
        "info.update(_omni_prompt_len=5)\nreturn 1, 2, {}",
        'info.update({"_omni_prompt_len": 5})\nreturn 1, 2, {}',
        'info = {**info, "_omni_is_prefill": True}\nreturn 1, 2, {}',
        "self.keep(info)\nreturn 1, 2, {}",
        "return 1, 2, info",
        "return 1, 2, {'codes': 3, **WRONG}",
        "info.update(WRONG)\nreturn 1, 2, {}",
        "return 1, 2, {**info, 'codes': 3}",
        "info = dict(info)\nreturn 1, 2, info",
    ],
)
def test_a_field_is_written(body: str) -> None:
    helper = 'def keep(self, info):\n    info["_omni_prompt_len"] = 5'
    assert rules(hook(body, helper, before='WRONG = {"_omni_prompt_len": 99, "voice": "a"}')) == ["PHASE005"]


def test_a_runner_writes_them_and_a_model_hands_them_on() -> None:
    assert rules("class Runner:\n    def _preprocess(self, info):\n        info['_omni_prompt_len'] = 5\n") == []
    assert rules(hook(f"return self.inner.preprocess(input_ids, None, _omni_is_prefill={FLAG})")) == []
    assert rules(hook('return 1, 2, info["additional_information"]')) == []
    assert rules(hook("return self.split(info)[0], 2, {}", "def split(self, info):\n    return 1, 2, info")) == []


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ('at = info.get("at", 0)\nreturn 1, self.p[at:], {"at": at + input_ids.numel()}', 'info.get("at", 0)'),
        ('at = info["at"]\nend = min(at + len(input_ids), 9)\nreturn 1, at, {"meta": {"at": end}}', 'info["at"]'),
        ("at = self.at\nself.at += input_ids.shape[0]\nreturn 1, self.p[at:], {}", "self.at"),
        ("at = self.at[0]\nself.at[0] = at + len(input_ids)\nreturn 1, self.p[at:], {}", "self.at"),
        ("state = self.states[0]\nat = state.at\nstate.at = at + len(input_ids)\nreturn 1, at, {}", "state.at"),
        ('at = info.get("at", 0)\nrows = self.p[at:]\nreturn 1, rows, {"at": at + rows.shape[0]}', 'info.get("at", 0)'),
    ],
)
def test_a_position_of_its_own(body: str, read: str) -> None:
    assert hits(hook(body)) == [("PHASE006", read)]


@pytest.mark.parametrize(
    "body",
    [
        'at = info["_omni_num_computed_tokens"]\nreturn 1, self.p[at : at + len(input_ids)], {}',
        'at = info["_omni_num_computed_tokens"]\nreturn 1, self.p[at:], {"end": at + len(input_ids)}',
        'return 1, 2, {"seen": info.get("seen", 0) + len(input_ids)}',
        'start, end = info["_omni_num_computed_tokens"], info["_omni_prompt_len"]\nn = len(input_ids)\n'
        f'if {FLAG}:\n    return 1, 2, {{"frame": max(0, start + n - end)}}\n'
        'frame = self.last(info) + n\nreturn 1, self.text[frame], {"frame": frame}',
        f'if not {FLAG}:\n    step = info.get("step", 0)\n    return 1, self.text[step], {{"step": step + 1}}\n'
        "return 1, 2, {}",
    ],
)
def test_a_position_from_progress_and_a_count_of_steps(body: str) -> None:
    assert rules(hook(body, 'def last(self, info):\n    return int(info["frame"])')) == []


@pytest.mark.parametrize(
    "body",
    [
        "return input_ids, self.embed(input_ids.reshape(1, 1)), {}",
        "return input_ids, self.embed(input_ids.view(1)), {}",
        "return input_ids, self.table[int(input_ids[0])], {}",
        "return input_ids, self.table[input_ids.item()], {}",
        "return input_ids, self.table[int(input_ids)], {}",
        "last = input_ids[-1:]\nreturn input_ids, self.embed(last), {}",
        "first = input_ids.reshape(-1)[:1]\nreturn input_ids, self.embed(first), {}",
        'embeds = info["next"].reshape(1, -1)\nreturn input_ids, embeds, {}',
        "embeds = torch.zeros(1, 8)\nreturn input_ids, embeds, {}",
        "return self.step(input_ids)",
    ],
)
def test_a_decode_branch_for_one_token(body: str) -> None:
    step = "def step(self, ids):\n    return ids, self.table[ids[0]], {}"
    assert rules(hook(PROMPT_OR_STEP + body, step)) == ["PHASE007"]


FRAME = 'frame = info.get("frame")\n'
QUEUE = 'queue = info["queue"]\n'
FIRST = "if input_ids[0] == self.special:\n    embeds = self.voice[0]\n"


@pytest.mark.parametrize(
    "body",
    [
        FRAME + "embeds = self.mix(input_ids.reshape(-1), frame.long().unsqueeze(0))\nreturn input_ids, embeds, {}",
        QUEUE + 'text = queue[0:1, :]\nreturn input_ids, self.embed(text), {"queue": queue[1:, :]}',
        QUEUE + 'text = queue[:1]\nreturn input_ids, self.embed(text), {"queue": queue[1:]}',
        "embeds = self.embed(input_ids)\n" + FIRST + "return input_ids, embeds, {}",
    ],
)
def test_a_decode_branch_that_makes_one_row_of_its_state(body: str) -> None:
    assert rules(hook(PROMPT_OR_STEP + body)) == ["PHASE007"]


@pytest.mark.parametrize(
    "body",
    [
        PROMPT_OR_STEP + FRAME + "embeds = self.mix(input_ids.unsqueeze(0), frame.unsqueeze(0))\nreturn 1, embeds, {}",
        PROMPT_OR_STEP + FRAME + "embeds = self.mix(input_ids, frame)\nreturn input_ids, embeds, {}",
        PROMPT_OR_STEP + QUEUE + "text = queue[0:1]\nreturn input_ids, self.embed(text, input_ids), {}",
        PROMPT_OR_STEP + QUEUE + 'n = len(input_ids)\ntext = queue[0:n]\nreturn 1, text, {"queue": queue[n:]}',
        f"embeds = self.embed(input_ids)\nif {FLAG}:\n    " + FIRST.replace("\n", "\n    ") + "return 1, embeds, {}\n"
        "return input_ids, self.embed(input_ids), {}",
        "embeds = self.embed(input_ids)\nif input_ids[0] == self.special:\n    self.met = 1\nreturn 1, embeds, {}",
    ],
)
def test_one_row_of_state_that_is_right(body: str) -> None:
    assert rules(hook(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "return input_ids, self.embed(input_ids.reshape(-1, 1)), {}",
        "if input_ids.numel() > 1:\n    return self.replay(input_ids)\nreturn 1, self.table[int(input_ids[0])], {}",
        'if input_ids.numel() != 1:\n    raise ValueError("one token")\nreturn 1, self.table[input_ids.item()], {}',
        "assert input_ids.numel() == 1\nreturn input_ids, self.table[input_ids.item()], {}",
        "embeds = self.embed(input_ids).reshape(len(input_ids), -1)\nreturn input_ids, embeds, {}",
    ],
)
def test_a_decode_branch_for_every_row(body: str) -> None:
    assert rules(hook(PROMPT_OR_STEP + body)) == []


def test_the_batched_hook_has_rows_of_one_token() -> None:
    source = "class Talker:\n    def preprocess_decode_batch(self, input_ids, req_infos):\n"
    source += "        rows = [self.table[input_ids[0]] for info in req_infos if not info['_omni_is_prefill']]\n"
    assert rules(source + "        return input_ids, rows, [{} for _ in req_infos]\n") == []


STORES = 'return 1, 2, {"state": {"on": True}}\n'
NOT = "return 3, 4, {}\n"


@pytest.mark.parametrize(
    "body",
    [
        f'if {FLAG} or info.get("state") is None:\n    {STORES}{NOT}',
        f'first = not isinstance(info.get("state"), dict)\nif {FLAG} or first:\n    {STORES}{NOT}',
        f'if not {FLAG} and info["state"]:\n    {NOT}{STORES}',
        f"if {FLAG} or self.name not in self.live:\n    self.live[self.name] = 1\n    {NOT}{NOT}",
        f'if info.get("state") is None:\n    return self.prefill(info)\n{STORES}',
        f'if info.get("state") is not None:\n    {NOT}if {FLAG}:\n    {STORES}{NOT}',
        f'if info.get("state") is not None:\n    {NOT}if self.is_prefill_row(info):\n    {STORES}{NOT}',
        f'is_prefill = info.get("state") is None\nif is_prefill:\n    {STORES}{NOT}',
        f'req_id = info["request_id"]\nif req_id not in self.live:\n    self.live[req_id] = 1\n    {NOT}{NOT}',
        f'if not info.get("prefill_done"):\n    return 1, 2, {{"prefill_done": True}}\n{NOT}',
    ],
)
def test_a_phase_that_is_kept(body: str) -> None:
    assert rules(hook(body)) == ["PHASE008"]


@pytest.mark.parametrize(
    "body",
    [
        f'if {FLAG} and info.get("voice") is not None:\n    {NOT}{NOT}',
        f'if {FLAG} or info.get("voice") is None:\n    {NOT}{NOT}',
        f'if {FLAG}:\n    if info.get("state") is None:\n        {STORES}    {NOT}{NOT}',
        f'if not {FLAG}:\n    if not info.get("decode_started"):\n        self.reset()\n'
        '    return 1, 2, {"decode_started": True}\nreturn 3, 4, {"decode_started": False}',
        f"if {FLAG} or self.config.single_stage:\n    {NOT}{NOT}",
        f"voice = info['voice']\nif voice not in self.live:\n    self.live[voice] = 1\n    {NOT}{NOT}",
        f"request_id = info['request_id']\nif request_id not in self.live:\n    self.live[request_id] = 1\n{NOT}",
        f'if info.get("state") is not None:\n    {NOT}rows = self.prefill_embeds\n{STORES}',
        f'if info.get("state") is None or info.get("state", {{}}).get("on"):\n    {NOT}if {FLAG}:\n    {STORES}{NOT}',
    ],
)
def test_state_that_decides_no_phase(body: str) -> None:
    assert rules(hook(body)) == []


def test_keys_that_nobody_promises() -> None:
    assert rules(hook('return 1, info["duplex_token_offset"], {"seed": info.get("_omni_seed")}')) == ["PHASE009"] * 2
    assert rules(hook('return 1, info["request_id"], {}')) == []
    assert rules("def seed(info):\n    return info.get('_omni_seed')\n") == [], "no hook leads here"


EARLY = """
class Talker:
    def preprocess_batch(self, *, req_ids, model_intermediate_buffer, device):
        for rid in req_ids:
            info = model_intermediate_buffer[rid]
            self.warm({})
"""


def test_the_early_boundary_has_no_fields() -> None:
    assert rules(EARLY.format("info['_omni_is_prefill']")) == ["PHASE010"]
    assert rules(EARLY.format("info['voice']")) == []
