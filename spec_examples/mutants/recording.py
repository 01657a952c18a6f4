"""Make a record of what a hunt found, beside what an earlier one found of other defects."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from spec_examples.mutants import record as recorded
from spec_examples.mutants.catalogue import mutants_of
from spec_examples.mutants.catching import Catch, Hunt
from spec_examples.mutants.record import CatchRecord, Caught, digest_of
from spec_examples.trace import Environment


def earlier(hunt: Hunt, environment: Environment) -> CatchRecord | None:
    """The committed record, where each defect in it was put to all examples that it has and all else is as it was."""
    try:
        before = recorded.read(recorded.CATCHES / f"{environment.vllm_omni}-{hunt.target.runner}.toml")
    except ValueError:
        return None
    return before if before.every and not before.changed else None


def record(catches: Iterable[Catch], hunt: Hunt, environment: Environment, *, every: bool) -> CatchRecord:
    """Write the catches; ``every`` says that all examples were asked.

    Those of other defects are kept if they depend on the same, examples included.
    """
    examples = {
        hunt.keys[each.id]: f"{each.id} {each.kind}"
        for page in hunt.pages
        for each in page.examples
        if each.id in hunt.control
    }
    made = CatchRecord(
        vllm_omni=environment.vllm_omni,
        vllm=environment.vllm,
        runner=hunt.target.runner,
        torch=environment.torch,
        python=environment.python,
        recorded=date.today().isoformat(),
        made_with=recorded.ingredients(environment.vllm_omni),
        every=every,
        examples=examples,
    )
    found = {**_kept(made), **{catch.mutant.name: _caught(catch, hunt) for catch in catches}}
    made.caught.update({each.name: found[each.name] for each in mutants_of(made.runner) if each.name in found})
    recorded.write(made)
    return made


def _kept(made: CatchRecord) -> dict[str, Caught]:
    """What an earlier run found of defects that are what they were, caught by examples that are what they were."""
    try:
        before = recorded.read(made.path)
    except ValueError:
        return {}
    if (before.made_with, before.every) != (made.made_with, made.every):
        return {}
    if made.every and before.examples.keys() != made.examples.keys():
        return {}  # another example may catch them too
    return {name: caught for name, caught in before.valid.items() if made.examples.keys() >= set(caught.by)}


def _caught(catch: Catch, hunt: Hunt) -> Caught:
    return Caught(
        name=catch.mutant.name,
        digest=digest_of(catch.mutant),
        state=catch.state,
        by=tuple(dict.fromkeys(hunt.keys[each] for each in catch.by if each in hunt.control)),
        judged=catch.judged,
        cases=catch.cases,
        message=catch.message,
    )
