"""Make a virtual environment and install pinned packages into it, telling what goes on.

``setup/environment.py`` does so in a clone, and ``environments`` beside this module for ``--setup``. This module
imports the standard library alone, and has no syntax that is newer than Python 3.7: the script has to start on a Python
that is too old, to say so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

GIBIBYTE = 2.0**30
SIZE_WITH_CPU_TORCH = 2.8 * GIBIBYTE
"""Bytes of a finished environment with a runner and a CPU build of torch, about."""


class SetupError(Exception):
    """Set-up cannot go on. The message is one line: what is wrong, and what would be right."""


@dataclass(frozen=True)
class Venv:
    """A virtual environment in ``folder``, there or to be made. pip is started in ``cwd``.

    ``size`` is how many bytes it will take, ``name`` what a person calls it, ``another`` how to choose another Python.
    """

    folder: Path
    cwd: Path
    size: float
    name: str
    another: str

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def log(self) -> Path:
        """Everything that pip said."""
        return self.folder / "set-up.log"

    @property
    def site_packages(self) -> Path:
        """Where pip installs to."""
        return self.folder / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"

    def installed(self) -> dict[str, str]:
        """Versions of its distributions, by normalised name. Reads the folder's names, and no file."""
        try:
            names = os.listdir(self.site_packages)
        except FileNotFoundError:
            return {}
        parts = (name[: -len(".dist-info")].rpartition("-") for name in names if name.endswith(".dist-info"))
        return {normalised(name): version for name, _, version in parts}


def normalised(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(file: Path) -> dict[str, str]:
    """Return the ``name==version`` lines of a requirement file, by normalised name."""
    pins = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([\w.-]+)==(\S+)", line)
        if match is None:
            raise SetupError(f"{file.parent.name}/{file.name}:{number}: expected name==version, not {line!r}")
        pins[normalised(match[1])] = match[2]
    return pins


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
        self.thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Step:
        self._say("…")
        self.thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self._say("failed" if kind else self.outcome, last=True)

    def _tick(self) -> None:
        while not self.ended.wait(0.5 if self.live else 10):
            self._say(self.detail or "…")

    def _say(self, what: str, last: bool = False) -> None:
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
    """Write one line to the standard error."""
    sys.stderr.write(f"set-up: {line}\n")
    sys.stderr.flush()


# -- pip ---------------------------------------------------------------------------------------------------------------

NOISE = re.compile(r"WARNING: (Location .* is ignored|The scripts? .* installed in|Running pip as the 'root' user)")
UNREACHABLE = (
    r"\(from versions: none\)|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|NameResolutionError"
    r"|Max retries exceeded|Network is unreachable|ProxyError|Connection refused"
)
REASONS = (
    (r"No space left on device", "the disk is full: about {size:.1f} GiB are needed in {place}, and some in $TMPDIR"),
    (r"Permission denied|Read-only file system", "{place} cannot be written to: {name} is made in it"),
    (UNREACHABLE, "no way to a package index: pip did not get {missing}; check the network and `pip config list`"),
    (
        r"\(from versions: (?!none\))[^)]*\)",
        "pip is not offered {missing} for this Python and machine; what it is offered is in {log}",
    ),
)


def known_reason(venv: Venv, output: str) -> str | None:
    """Return one line that says what stopped pip or the file system, if it is one of the usual things."""
    missing = re.search(r"No matching distribution found for (\S+)", output)
    said = {
        "missing": missing[1] if missing else "a package",
        "size": venv.size / GIBIBYTE,
        "place": venv.folder.parent,
        "name": venv.name,
        "log": venv.log,
    }
    return next((reason.format(**said) for pattern, reason in REASONS if re.search(pattern, output)), None)


class PipError(SetupError):
    """pip failed. ``output`` is what it said."""

    def __init__(self, venv: Venv, output: str) -> None:
        self.output = output
        errors = [line for line in output.splitlines() if line.lstrip().lower().startswith("error")]
        otherwise = f"pip failed: {' / '.join(errors) or 'it gave no reason'}; all it said is in {venv.log}"
        super().__init__(known_reason(venv, output) or otherwise)


def environment() -> dict[str, str]:
    """Return this process's environment without what would make pip install elsewhere or ask questions."""
    unwanted = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PIP_TARGET", "PIP_PREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "LC_ALL": "C.UTF-8"}


def pip_install(venv: Venv, step: Step, arguments: list[str], lock: int, packages: int = 0) -> None:
    """Run ``pip install``; show how far it is.

    pip holds the lock too (``lock`` is its open file): where this process is killed, the next set-up waits for the pip
    that it left behind. Nothing is compiled here: a run imports a fifth of the modules, and compiles those itself.
    """
    command = [str(venv.python), "-P", "-m", "pip", "install"]
    command += ["--progress-bar", "off", "--retries", "3", "--no-compile"]
    before = len(venv.installed())
    megabytes, seen, output = 0.0, 0, []
    process = subprocess.Popen(
        command + arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=venv.cwd,
        env=environment(),
        pass_fds=(lock,),
    )
    installing = threading.Event()

    def count_installed() -> None:
        while process.poll() is None:
            if installing.wait(0.5) and packages > 1:
                step.detail = f"unpacking {len(venv.installed()) - before} of {packages}"
                time.sleep(0.5)

    threading.Thread(target=count_installed, daemon=True).start()
    assert process.stdout is not None
    try:
        with venv.log.open("a") as log:
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
        raise PipError(venv, "".join(output))


# -- the steps ---------------------------------------------------------------------------------------------------------


def _made_here(venv: Venv) -> bool:
    """Whether the environment was made there: its scripts hold absolute paths, so it does not survive a move."""
    try:
        configuration = (venv.folder / "pyvenv.cfg").read_text()
    except OSError:
        return False
    command = re.search(r"^command = .*$", configuration, re.MULTILINE)
    return command is None or command[0].endswith(f" {venv.folder}")


def _usable(venv: Venv) -> bool:
    """Whether the environment has this version of Python, and a pip that starts."""
    test = "import pip._internal.cli.main, sys; print(*sys.version_info[:2])"
    command = [str(venv.python), "-c", test]
    try:
        answer = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(), cwd=venv.folder
        )
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.split() == [str(part) for part in sys.version_info[:2]]


def make(venv: Venv) -> None:
    """Make the environment, or leave one that works."""
    if venv.folder.exists() or venv.folder.is_symlink():
        if _made_here(venv) and _usable(venv):
            return
        tell(f"the {venv.name} here is broken, or of another Python or folder: making it anew")
        if venv.folder.is_dir() and not venv.folder.is_symlink():
            shutil.rmtree(venv.folder)
        else:
            venv.folder.unlink()
    free = shutil.disk_usage(venv.folder.parent).free
    if free < venv.size:
        tell(f"{free / GIBIBYTE:.1f} GiB are free here; about {venv.size / GIBIBYTE:.1f} GiB will be needed")
    # The interpreter below a virtual environment, so that this one does not rest on another.
    python = getattr(sys, "_base_executable", None) or sys.executable
    with Step("making {} with Python {}.{}".format(venv.name, *sys.version_info)):
        made = subprocess.run(
            [python, "-m", "venv", str(venv.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment(),
            cwd=venv.folder.parent,
        )
        if made.returncode != 0:
            if re.search("ensurepip|No module named venv", made.stdout):
                package = "python3.{}-venv".format(sys.version_info[1])
                raise SetupError(f"this Python has no venv module with pip: install {package}, or {venv.another}")
            said = f"no {venv.name}: {made.stdout.strip().splitlines()[-1:]}"
            raise SetupError(known_reason(venv, made.stdout) or said)
    (venv.folder / ".gitignore").write_text("*\n")  # as a newer Python's venv does


def drop_half_installed(venv: Venv) -> None:
    """Forget distributions that an interrupted pip left incomplete, so that pip installs them again.

    pip writes ``RECORD`` last, and renames what it is about to remove to a name with ``~`` first.
    """
    for folder in venv.site_packages.glob("~*"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in venv.site_packages.glob("*.dist-info"):
        record = folder / "RECORD"
        lines = record.read_text().splitlines() if record.exists() else [""]
        files = [line.rsplit(",", 2)[0].strip('"') for line in lines]
        if not all(file and (file.endswith(".pyc") or (venv.site_packages / file).exists()) for file in files):
            tell(f"{folder.name[: -len('.dist-info')]} was not installed to the end: installing it again")
            shutil.rmtree(folder)


def install_torch(venv: Venv, version: str, constraints: list[str], lock: int) -> None:
    """Install the CPU build where pip is offered one; otherwise the ordinary wheel with what it depends on."""
    if venv.installed().get("torch", "").partition("+")[0] == version:
        return  # whichever build
    with Step(f"torch {version}, CPU build") as step:
        try:
            pip_install(venv, step, ["--no-deps", f"torch=={version}+cpu"], lock, packages=1)
            return
        except PipError as error:
            if not cpu_build_not_offered(error.output):
                raise
            step.outcome = "not offered here; the ordinary wheel is larger"
    with Step(f"torch {version}, ordinary wheel") as step:
        pip_install(venv, step, [f"torch=={version}", *constraints], lock)


def cpu_build_not_offered(output: str) -> bool:
    """Whether pip saw torch, but no CPU build of it. Where it saw nothing at all, it had no way to an index.

    Where pip is configured with constraints, it calls a version that it is not offered a conflict.
    """
    offered = re.search(r"Could not find a version that satisfies .*\(from versions: (.*)\)", output)
    return "ResolutionImpossible" in output or (offered is not None and offered[1] != "none")


def install_pins(venv: Venv, title: str, pins: dict[str, str], lock: int) -> None:
    """Install those of the pins that are not there, without dependencies: the files name all that is needed."""
    present = venv.installed()
    missing = [f"{name}=={version}" for name, version in pins.items() if present.get(name) != version]
    if missing:
        with Step(f"{title}, {len(missing)} package{'s' * (len(missing) > 1)}") as step:
            pip_install(venv, step, ["--no-deps", *missing], lock, packages=len(missing))


def size(folder: Path) -> int:
    """Return the bytes on disk below a folder."""
    return sum(os.lstat(os.path.join(at, name)).st_blocks * 512 for at, _, names in os.walk(folder) for name in names)
