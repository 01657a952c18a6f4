"""The pages of ``docs``, each executed once for all tests of a process that change what a page says."""

from functools import cache
from pathlib import Path

from spec_examples.execution.page import PageExecution
from spec_examples.gate.pages_as_tests import shared_session
from spec_examples.markdown import read
from spec_examples.mutants.session import DefectSession
from spec_examples.targets import Target

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(DOCS.glob("**/*.md"))
CONTRACT = sorted(DOCS.glob("contract/*.md"))


@cache
def kept_session() -> DefectSession:
    """The shared session, in which every run is made once."""
    return DefectSession(shared_session(), Target(), "", {})


@cache
def executed(path: Path) -> PageExecution:
    """A page whose examples have all been executed, and none is red."""
    execution = PageExecution(read(path), kept_session(), Target())
    results = [execution.evaluate(example) for example in execution.page.examples]
    assert [str(result) for result in results if result.outcome not in ("passed", "exempt")] == []
    return execution
