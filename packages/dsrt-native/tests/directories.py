"""What lies in a directory, to compare."""

from pathlib import Path


def files_of(cache: Path) -> dict[str, bytes]:
    """The bytes of every file, by its path in the cache."""
    return {str(p.relative_to(cache)): p.read_bytes() for p in sorted(cache.rglob("*")) if p.is_file()}


def names(path: Path) -> list[str]:
    """The names of what is there; none where there is no directory."""
    return sorted(p.name for p in path.iterdir()) if path.exists() else []
