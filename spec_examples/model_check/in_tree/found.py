"""Which talkers of vLLM-Omni are checked, and what was found of them, as it was recorded. No torch.

``python -m spec_examples.model_check.in_tree.found`` checks them on the installed release, and writes ``found.json``
beside this file. With ``e2e``, in the environment of ``make e2e``, it checks those that import nowhere else, and writes
``found-e2e.json``. What was recorded is stale once the release, the check or a factory has changed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spec_examples.model_check.check import ModelVerdict, check
from spec_examples.model_check.subject import named
from spec_examples.targets import Session, Target, resolve

CHECK = Path(__file__).parents[1]
SEARCH = 10
"""Schedules that are drawn for a talker that keeps all promises in the fixed runs."""

_MODELS, _FACTORIES = "vllm_omni.model_executor.models", "spec_examples.model_check.in_tree"


@dataclass(frozen=True)
class Talker:
    """One talker: what it is called here, its class, and the factory that builds it."""

    name: str
    cls: str
    factory: str


_MOSS = f"{_MODELS}.moss_tts.modeling_moss_tts_talker"

TALKERS = (
    Talker("moss_tts, delay", f"{_MOSS}:MossTTSDelayTalkerForGeneration", "moss_tts:delay"),
    Talker("moss_tts, realtime", f"{_MOSS}:MossTTSRealtimeTalkerForGeneration", "moss_tts:realtime"),
    Talker("moss_tts, local", f"{_MOSS}:MossTTSLocalTalkerForGeneration", "moss_tts:local"),
    Talker(
        "personaplex",
        f"{_MODELS}.personaplex.personaplex_talker:PersonaPlexTalkerForConditionalGeneration",
        "personaplex:build",
    ),
    Talker("voxtral_tts", f"{_MODELS}.voxtral_tts.voxtral_tts:VoxtralTTSForConditionalGeneration", "voxtral_tts:build"),
    Talker("voxcpm2", f"{_MODELS}.voxcpm2.voxcpm2_talker:VoxCPM2TalkerForConditionalGeneration", "voxcpm2:build"),
    Talker(
        "minicpmo_4_5",
        f"{_MODELS}.minicpmo_4_5.minicpmo_4_5_omni_tts:MiniCPMO45OmniTTSForConditionalGeneration",
        "minicpmo_4_5:build",
    ),
    Talker(
        "nemotron_voicechat",
        f"{_MODELS}.nemotron_voicechat.nemotron_voicechat_talker:NemotronVoiceChatTalkerForConditionalGeneration",
        "nemotron_voicechat:build",
    ),
    Talker(
        "breeze_tts_2", f"{_MODELS}.breeze_tts_2.modeling_breeze:BreezeForConditionalGeneration", "breeze_tts_2:build"
    ),
)
"""Those that import in the default environment and have a factory here."""

E2E_TALKERS = (
    Talker(
        "qwen3_tts", f"{_MODELS}.qwen3_tts.qwen3_tts_talker:Qwen3TTSTalkerForConditionalGeneration", "qwen3_tts:build"
    ),
    Talker(
        "qwen2_5_omni", f"{_MODELS}.qwen2_5_omni.qwen2_5_omni:Qwen2_5OmniForConditionalGeneration", "qwen2_5_omni:build"
    ),
)
"""Those that import with the ordinary torch wheel and what goes with it."""

GROUPS = {"found": TALKERS, "found-e2e": E2E_TALKERS}
"""By the name of the file that they are recorded in."""


def digest() -> str:
    """What a record depends on besides the release: the code of the check and of the factories, comments aside."""
    files = sorted(path for path in CHECK.rglob("*.py") if "examples" not in path.parts and path != Path(__file__))
    found = hashlib.sha256()
    for path in files:
        code = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
        found.update(f"{path.relative_to(CHECK).as_posix()}\0{code}\0".encode())
    return found.hexdigest()


def found(session: Session, target: Target, talker: Talker) -> tuple[ModelVerdict, ...]:
    """The verdicts on one talker."""
    subject = named(talker.cls, f"{_FACTORIES}.{talker.factory}")
    return check(session, target, subject, search=SEARCH).verdicts


def recorded(group: str = "found") -> dict[str, Any]:
    """The record of a group: ``vllm_omni``, ``digest``, and ``talkers``, each with a mapping for every promise.

    Raises ``ValueError`` with the file's name where it is damaged.
    """
    return read(Path(__file__).with_name(f"{group}.json"))


def read(file: Path) -> dict[str, Any]:
    """The record in a file; raises as ``recorded`` does."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        for verdicts in record["talkers"].values():
            for verdict in verdicts:
                ModelVerdict(**verdict)
        return {"vllm_omni": record["vllm_omni"], "digest": record["digest"], "talkers": record["talkers"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        again = "run python -m spec_examples.model_check.in_tree.found"
        raise ValueError(f"{file.name}: no record of talkers ({' '.join(str(error).split())}): {again}") from error


def record(group: str = "found") -> None:
    """Check all talkers of a group and write what was found."""
    target = resolve()
    with Session(say=lambda line: None) as session:
        talkers = {}
        for talker in GROUPS[group]:
            sys.stderr.write(f"{talker.name}\n")
            talkers[talker.name] = [asdict(verdict) for verdict in found(session, target, talker)]
        release = session.environment(target).vllm_omni
    whole = {"vllm_omni": release, "digest": digest(), "talkers": talkers}
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    Path(__file__).with_name(f"{group}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    record("found-e2e" if sys.argv[1:] == ["e2e"] else "found")
