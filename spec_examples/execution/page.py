"""Execute the examples of one page, in order, on one target."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from spec_examples.conformance.known import Divergence, known
from spec_examples.contract.judge import excluded, judge, stopped, took_mtp
from spec_examples.contract.pair import judge_pair
from spec_examples.contract.verdict import Verdict
from spec_examples.execution import blocks, claims, tables
from spec_examples.execution.interpreter import Interpreter
from spec_examples.execution.needs import needs
from spec_examples.execution.result import Disagreement, Result, Shown, State, Unaskable, Unexpected
from spec_examples.execution.show import show_step
from spec_examples.exercised import Exercised, exercised
from spec_examples.markdown import Example, Page
from spec_examples.running import SETTINGS_LANGUAGES, Context, Made, RunnerRaised, running, scalar_twin
from spec_examples.scenario import InvalidScenario, Row, Scenario
from spec_examples.targets import Session, Target, TargetFailed, TargetUnavailable
from spec_examples.trace import Trace

EXCLUSIONS = {"ROUTE-2", "ROUTE-3", "ROUTE-5"}
"""Clauses that say who does not take MTP: a run shows one only where somebody else does take it."""

HOOKS = ("preprocess", "preprocess_decode_batch", "preprocess_batch", "talker_mtp", "postprocess")
"""Methods by which a class in a file is known to be a talker."""

ENDS_WITH_PROMPT = "requests of the generation runner end with their prompt"
"""Why a page may expect what that runner does not show, although it keeps every promise in what it ran."""

CONTRACT_PAGES = "docs/contract/"

SHARED = ("python", *SETTINGS_LANGUAGES)
"""Languages of the blocks that later blocks of a page may use."""


class PageExecution:
    """One page on one target: the process of its Python blocks, the files that it shows, its results so far.

    ``evaluate`` may be called in any order: whatever an example needs of the blocks before it is executed first. What a
    block does to its process stays there; runs are made, and judged, by the process of the check.
    """

    def __init__(self, page: Page, session: Session, target: Target) -> None:
        self.page = page
        self.context = Context(session, target)
        self.interpreter = Interpreter()
        self.printed: dict[int, str] = {}
        """What each Python block printed, by its line."""
        self.results: dict[str, Result] = {}
        self._rows = tables.Together(page.examples)
        self._shared = [each for each in page.examples if _is_shared(each)]
        self._made: dict[str, list[Made]] = {}
        """What each example ran, by its id."""

    def __enter__(self) -> PageExecution:
        return self

    def __exit__(self, *_: object) -> None:
        self.interpreter.close()

    def evaluate(self, example: Example) -> Result:
        """The result of ``example``; it is executed once."""
        if example.id not in self.results:
            self._before(example)
        if example.id not in self.results:
            self.results[example.id] = self._result(example)
        return self.results[example.id]

    def _before(self, example: Example) -> None:
        """Blocks share a namespace, and a claim decides for the blocks inside it: execute both first."""
        around = [e for e in self.page.examples if e.line == example.parent] if example.parent else []
        for earlier in sorted([*self._shared, *around], key=lambda each: each.line):
            if earlier.line < example.line and earlier.id not in self.results:
                self.results[earlier.id] = self._result(earlier)

    def _result(self, example: Example) -> Result:
        if example.exempt:
            if example.page.startswith(CONTRACT_PAGES):
                return self._as_result(example, "error", f"nothing under {CONTRACT_PAGES} is exempt from execution")
            return self._as_result(example, "exempt", example.exempt)
        if example.kind == "admonition":
            results = claims.evaluate(self, example)
            self.results.update(results)
            return self.results[example.id]
        return self.attempt(example, lambda: self.execute(example))

    def attempt(self, example: Example, execute: Callable[[], None]) -> Result:
        """Execute one example and say what came of it; its runs are judged too."""
        start = len(self.context.made)
        result = self._attempt(example, execute)
        self._made[example.id] = self.context.made[start:]
        if result.outcome not in ("failed", "diverges", "error"):
            return result
        own = self._own(start)
        return replace(result, shown=_shown(own), stops=(*result.stops, *_stops(own)))

    def _attempt(self, example: Example, execute: Callable[[], None]) -> Result:
        start = len(self.context.made)
        try:
            with running(self.context):
                execute()
            made = self.context.made[start:]
            if example.kind == "block":
                self._judge(example, made)
            self._require_liveness(example, made)
        except Disagreement as found:
            violated, detail = found.clauses, found.detail
            if not violated:
                violated, more = self._violated(self._own(start))
                detail = "\n".join(filter(None, (detail, more)))
            if isinstance(found, Unexpected) and not violated and self._ends_with_prompt(example, start):
                message = f"{ENDS_WITH_PROMPT}: {found.message}"
                return self._as_result(example, "diverges", message, (), detail, found.line)
            clauses = self._named(example, violated, start)
            failed = self._as_result(example, self._failure(violated), found.message, clauses, detail, found.line)
            return replace(failed, rewrite=None if violated else found.rewrite)
        except Unaskable as found:
            wrong = self._as_result(example, "error", found.message, line=found.line, column=found.column)
            return replace(wrong, rewrite=found.rewrite)
        except (InvalidScenario, TargetUnavailable) as found:
            return self._as_result(example, "error", str(found))
        except (RunnerRaised, TargetFailed) as found:
            violated, detail = self._violated(self._own(start))
            clauses = self._named(example, violated, start)
            stopped = self._as_result(example, self._failure(violated), str(found), clauses, detail)
            ended = not any(made.trace.error for made in self.context.made[start:])
            return replace(stopped, stops=(None,)) if ended else stopped
        return self._as_result(example, "passed", "")

    def _ends_with_prompt(self, example: Example, start: int) -> bool:
        """Whether an example speaks of requests, and those of this runner end with their prompt.

        Rows that were forced do not: what it does with them is the contract's.
        """
        if self.context.target.runner != "generation":
            return False
        before = [made for block in needs(self.page, example).blocks for made in self._made.get(block.id, ())]
        return any(made.scenario.requests for made in (*before, *self.context.made[start:]))

    def _named(self, example: Example, violated: tuple[str, ...], start: int) -> tuple[str, ...]:
        """The clauses that a red example is about: those violated, else its own, unless a talker's own hook raised."""
        if violated or any(made.trace.error_in for made in self._own(start)):
            return violated
        return example.clauses

    def unexpected(self, start: int) -> tuple[tuple[str, ...], str]:
        """The clauses that runs since ``context.made[start]`` violate although their release is not known to."""
        return self._unexpected(self._own(start))

    @property
    def exercised(self) -> Exercised:
        """What this page made of its target so far."""
        target = self.context.target
        return exercised(m.trace for m in self.context.made if m.target == target) + self._rows.exercised(target)

    def execute(self, example: Example) -> None:
        """Dispatch on what the example is. Raises ``Disagreement`` or ``Unaskable``."""
        if example.kind == "row":
            tables.evaluate(example, self._rows)
        else:
            blocks.evaluate(self, example)

    def following(self, example: Example) -> Example | None:
        """The example right after this one."""
        later = [e for e in self.page.examples if e.line > example.line]
        return later[0] if later else None

    def preceding(self, example: Example) -> Example | None:
        """The example right before this one."""
        earlier = [e for e in self.page.examples if e.line < example.line]
        return earlier[-1] if earlier else None

    def _judge(self, example: Example, made: list[Made]) -> None:
        """Every run on the target of the check has to keep every promise, whatever the block itself asserts."""
        own = [m for m in made if self._is_own(m)]
        if example.parent is not None and claims.is_claim(self.page, example.parent):
            violated, detail = self._unexpected(own)
        else:
            violated, detail = self._violated(own)
        if violated:
            raise Disagreement(f"the runner breaks {', '.join(violated)}", violated, detail)

    def _unexpected(self, made: list[Made]) -> tuple[tuple[str, ...], str]:
        """What runs violate although their release is not known to; a claim may be about one that is.

        Where a release breaks promises, a run may also stop for it, which says no more.
        """
        expected = self._known()
        violated, detail = self._violated([m for m in made if not (expected and m.trace.error)])
        return tuple(clause for clause in violated if clause not in expected), detail

    def _known(self, *, gate: bool = False) -> dict[str, Divergence]:
        """The clauses that the code of the target is known to break."""
        target = self.context.target
        environment = self.context.session.environment(target)
        version = target.vllm_omni if target.is_release else environment.vllm_omni
        return known(version, target.runner, environment.preprocess_from, gate=gate)

    def _own(self, start: int) -> list[Made]:
        """What an example ran on the target of the check itself; other targets are named, to be shown as they are."""
        return [made for made in self.context.made[start:] if self._is_own(made)]

    def _is_own(self, made: Made) -> bool:
        return not made.named and made.target == self.context.target

    def _failure(self, violated: tuple[str, ...]) -> State:
        """A failure is a known divergence where the target is known to break every clause that it breaks here."""
        if not violated:
            return "failed"
        expected = self._known(gate=True)
        return "diverges" if set(violated) <= expected.keys() else "failed"

    @staticmethod
    def _violated(made: list[Made]) -> tuple[tuple[str, ...], str]:
        """Clauses that a block's runs violate; what each judge says, then the steps that they speak of."""
        said: dict[str, str] = {}
        steps: dict[str, None] = {}
        for one in made:
            for verdict in _broken(one.trace):
                if verdict.clause not in said:
                    said[verdict.clause] = f"  {verdict.clause}: {verdict.message}"
                    if verdict.step:
                        steps[show_step(one.trace, verdict.step)] = None
            if one.trace.error_in:
                said.setdefault("", f"  the talker's own {one.trace.error_in} raised {one.trace.error}")
            elif error := stopped(one.trace):
                said.setdefault("ROUTE-1", f"  ROUTE-1: the runner raised {error}")
        for verdict in _compared(made):
            if verdict.outcome == "failed":
                said.setdefault(verdict.clause, f"  {verdict.clause}: {verdict.message}")
        return tuple(filter(None, said)), "\n".join([*said.values(), *steps])

    @staticmethod
    def _require_liveness(example: Example, made: list[Made]) -> None:
        """Nothing is shown by runs in which nothing happened, and no exclusion by runs in which nothing took MTP."""
        if made and not any(step.hooks for m in made for step in m.trace.steps):
            raise Disagreement("no hook was called in any run of this example")
        if not EXCLUSIONS.intersection(example.clauses):
            return
        traces = [m.trace for m in made if m.trace.mtp]
        if any(excluded(t) for t in traces) and not any(took_mtp(t) for t in traces):
            raise Disagreement("no row of this example took MTP, so it shows no exclusion")

    def _as_result(
        self,
        example: Example,
        outcome: State,
        message: str,
        clauses: tuple[str, ...] | None = None,
        detail: str = "",
        line: int | None = None,
        column: int | None = None,
    ) -> Result:
        return Result(
            id=example.id,
            kind=example.kind,
            path=example.page,
            line=line or example.line,
            clauses=example.clauses if clauses is None else clauses,
            outcome=outcome,
            message=message,
            detail=detail,
            column=column,
            text=self.page.text[example.start : example.end],
        )


def _is_shared(example: Example) -> bool:
    return example.kind == "block" and example.parent is None and example.language in SHARED


def _broken(trace: Trace) -> list[Verdict]:
    """What a run violates. Where the talker stopped by itself, rows behind that one reach no hook and break nothing."""
    last = len(trace.steps) if trace.error_in else 0
    failed = [verdict for verdict in judge(trace) if verdict.outcome == "failed"]
    return [verdict for verdict in failed if (verdict.clause, verdict.step) != ("ROUTE-1", last)]


def _compared(made: list[Made]) -> Iterator[Verdict]:
    """ROUTE-6 of the same steps through the scalar and through the batched hook, where an example runs both."""
    traces = {one.scenario: one.trace for one in made}
    for scenario, trace in traces.items():
        twin = scalar_twin(scenario)
        if twin in traces and not trace.error_in and not traces[twin].error_in:
            yield judge_pair(traces[twin], trace)


def _shown(made: list[Made]) -> tuple[Shown, ...]:
    """For each clause that some run violates, the first run and step in which it does."""
    found: dict[str, Shown] = {}
    for one in made:
        broken = [(v.clause, v.step, v.request) for v in _broken(one.trace)]
        broken += [("ROUTE-1", len(one.trace.steps), None)] if stopped(one.trace) else []
        for clause, step, request in broken:
            rows = one.trace.steps[step - 1].rows if step and step <= len(one.trace.steps) else ()
            forced = tuple(Row(row.prompt_len, row.computed, row.span, row.request) for row in rows)
            found.setdefault(clause, Shown(clause, one.scenario, forced, request))
    return tuple(found.values())


def _stops(made: list[Made]) -> tuple[Scenario, ...]:
    """The scenarios of runs that stopped in vLLM's code, a scheduler's or the harness's."""
    return tuple(one.scenario for one in made if one.trace.error_at in ("vllm", "scheduler", "harness"))


def defined_talkers(source: str) -> list[str]:
    """Names of the classes in a file that define a hook of the runner. Raises ``SyntaxError``."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return [c.name for c in classes if any(isinstance(n, ast.FunctionDef) and n.name in HOOKS for n in c.body)]
