"""C that is compiled where it runs, for the instructions of the machine, and kept beside the results."""

import os
import platform
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

FOLDER = Path(__file__).parent / "results"
_FLAGS = ["-O3", "-march=native", "-shared", "-fPIC"]


class NoCompiler(Exception):
    """There is none, or it fails; the words say why."""


def compiled(source: Path) -> Path:
    """The shared object of a file of C.

    Raises:
        NoCompiler: It cannot be made.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoCompiler("no C compiler: cc")
    key = sha256(source.read_bytes() + "\0".join([compiler, *_FLAGS, _processor()]).encode())
    path = FOLDER / f"{source.stem}-{key.hexdigest()[:16]}.so"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        building = Path(mkdtemp(prefix=f".{source.stem}-", dir=FOLDER))
        try:
            built = building / path.name
            command = [compiler, *_FLAGS, "-o", str(built), str(source)]
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise NoCompiler(f"cc: {done.stderr.strip().splitlines()[-1]}")
            os.replace(built, path)
        finally:
            shutil.rmtree(building)
    return path


def _processor() -> str:
    # A folder of results may move to another machine; what was compiled for this one must not.
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
