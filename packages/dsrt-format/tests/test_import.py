import subprocess
import sys


def test_importing_the_package_loads_nothing_heavy_and_starts_no_thread():
    code = (
        "import sys, threading, dsrt_format\n"
        "heavy = {'pyarrow', 'polars', 'torch', 'ml_dtypes'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
