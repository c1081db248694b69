"""Memory of a build does not depend on how many samples there are."""

from dsrt_format import Manifest
from tests.survival.memory import peak


def test_ten_times_the_samples_need_no_more_memory(tmp_path):
    _, small = peak(tmp_path / "small", 20_000)
    _, large = peak(tmp_path / "large", 200_000)
    assert Manifest.load(tmp_path / "large").num_samples == 200_000
    # The metadata alone would be 10 MB more, the payload 20 MB.
    assert large - small < 8 << 20
