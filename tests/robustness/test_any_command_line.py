"""Whatever is typed, a command ends with a verdict or with one clear line, and never with a traceback."""

import contextlib
import io

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spec_examples.gate.cli import COMMANDS, main
from spec_examples.running import Context
from spec_examples.targets import Target

CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))

odd = st.text(max_size=12) | st.sampled_from(
    [
        "",
        "-",
        "--",
        "-1",
        "0",
        "1/0",
        "0/1",
        "9" * 30,
        "1e9",
        "5,4",
        "5,4,1,1",
        "a:b",
        ":",
        "a.b:",
        ":c",
        "\0",
        "\n",
        "é",
        "=",
        "@1",
    ]
)
"""What people type by mistake, and what nobody types."""

numbers = st.integers(-2, 140).map(str) | odd
row_words = st.lists(
    st.tuples(st.sampled_from(["--prompt-len", "--computed", "--span", "--hook", "--beside", "--no-mtp"]), numbers),
    max_size=5,
)
request = st.from_regex(r"[0-9]{1,3}(:[0-9]{1,2})?(@[0-9]{1,2})?", fullmatch=True) | odd
trace_words = st.lists(
    st.tuples(
        st.sampled_from(["--request", "--budget", "--sequences", "--blocks", "--block-size", "--talker"]), request
    ),
    max_size=5,
)


def put(words, session):
    """The status, the report and what was said beside it; nothing escapes."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        status = main(words, stdout=out, context=Context(session, Target()))
    return status, out.getvalue(), err.getvalue()


def holds(words, session):
    status, out, err = put(words, session)
    assert status in (0, 1, 2)
    assert "Traceback" not in out + err
    if status == 2 and not out:
        assert err.startswith("phase-contract: ")
        assert err.count("\n") == 1, err
    if status == 0 and "--help" not in words and "-h" not in words:
        assert out


@settings(CALM, max_examples=150)
@given(st.sampled_from([*COMMANDS, "", "cheque"]), st.lists(odd, min_size=1, max_size=4))
def test_odd_words_after_any_command(session, command, words):
    """None of them names a page or a release, so that nothing long is run."""
    safe = command not in ("check", "mutants", "lint", "model") or words[0]
    holds([command, *words] if safe else [command, "no-such-thing"], session)


@settings(CALM, max_examples=60)
@given(row_words)
def test_any_row(session, given_words):
    holds(["row", *(word for pair in given_words for word in pair)], session)


@settings(CALM, max_examples=40)
@given(trace_words)
def test_any_trace(session, given_words):
    holds(["trace", *(word for pair in given_words for word in pair)], session)


@settings(CALM, max_examples=100)
@given(st.sampled_from(["--shard", "--release", "--runner", "--show", "--vllm-omni"]), odd)
def test_any_matrix(session, option, value):
    holds(["matrix", "--release", "0.12.0rc1", "--runner", "npu", option, value], session)


@settings(CALM, max_examples=60)
@given(
    st.sampled_from(["check", "row", "trace", "probe", "mutants"]), st.sampled_from(["--vllm-omni", "--runner"]), odd
)
def test_any_target(session, command, option, value):
    holds([command, option, value, "--output", "/no/such/folder/x"], session)


@settings(CALM, max_examples=60)
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_page(session, site, content):
    page = site("docs/odd.md", "")
    page.write_bytes(content)
    status, out, err = put(["check", str(page)], session)
    assert status in (1, 2)
    assert err == ""
    assert out.splitlines()[-1].startswith(("0 blocks", "1 blocks", "2 blocks"))
