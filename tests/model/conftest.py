"""Models of a test's own, put to ``phase-contract model`` as a person would."""

import contextlib
import io

import pytest

from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Session, resolve


@pytest.fixture(scope="module")
def ask(request, tmp_path_factory):
    """``ask(words)``: status, report and messages of the command, beside a ``talkers.py`` with the module's TALKERS."""
    folder = tmp_path_factory.mktemp("talkers")
    (folder / "talkers.py").write_text(request.module.TALKERS, encoding="utf-8")
    with contextlib.chdir(folder), Session() as session:

        def asked(words):
            out, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stderr(errors):
                status = main(["model", *words.split()], stdout=out, context=Context(session, resolve()))
            return status, out.getvalue(), errors.getvalue()

        yield asked
