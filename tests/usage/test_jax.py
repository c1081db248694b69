import json
from typing import Any

from dsrt_native import Cache, Loader


def test_training_in_jax_goes_on_from_a_state(folder: Any) -> None:
    assert folder.run("d_jax.py").stdout == "position 640 epoch 4\n"
    state = folder.path / "jax-state.json"
    whole = json.loads(state.read_text())
    assert whole["position"] == 640
    with Loader(
        Cache.open(folder.path / "caches" / "pets-train").population, 16, order="permuted", seed=7
    ) as loader:
        loader.seek(320)
        state.write_text(json.dumps(loader.state_dict()))
    assert folder.run("d_jax.py").stdout == "position 640 epoch 4\n"
    assert json.loads(state.read_text()) == whole
