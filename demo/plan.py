"""The numbers and names that training, resuming and the picture agree on."""

EPOCHS, BATCH, STEPS_PER_EPOCH = 20, 64, 24
SEED = 2024

WEIGHTS = "weights.pt"
"""The network's and the optimizer's state, by torch."""

STATE = "loader.json"
"""The loader's state."""

LOG = "log.jsonl"
"""A line a step."""

RESULT = "result.json"
"""How many of the held-out digits are read right."""
