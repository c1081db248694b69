import json

import pytest


def damage(cache, field="tokens", at=64):
    """Flip a bit; byte 64 of field tokens belongs to sample 1."""
    file = cache / "fields" / field / "00000.shard"
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)


def test_a_sound_cache_is_called_sound_with_exit_code_0(dsrt, cache):
    result = dsrt("verify", cache)
    assert result.exit_code == 0
    assert f"{cache}: sound. 5 samples" in result.stdout


def test_damage_is_listed_with_its_place_with_exit_code_1(dsrt, cache):
    damage(cache)
    result = dsrt("verify", cache)
    assert result.exit_code == 1
    assert "problem" in result.stdout.splitlines()[0]
    rows = [line.split()[:4] for line in result.stdout.splitlines()]
    assert ["R033", "tokens", "0", "1"] in rows


def test_json_lists_every_damaged_record(dsrt, cache):
    damage(cache)
    damage(cache, field="file", at=64 + 1)  # sample 2: sample 1 has one byte
    result = dsrt("verify", cache, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["path"], found["status"], found["samples"]) == (str(cache), "damaged", 5)
    places = {(p["rule"], p["field"], p["shard"], p["sample"]) for p in found["problems"]}
    assert {("R033", "tokens", 0, 1), ("R033", "file", 0, 2)} <= places
    assert all(problem["message"] for problem in found["problems"])


def test_what_is_no_cache_could_not_be_looked_at_with_exit_code_2(dsrt, tmp_path):
    result = dsrt("verify", tmp_path, "--json")
    assert result.exit_code == 2
    found = json.loads(result.stdout)
    assert (found["status"], found["problems"]) == ("unseen", [])
    assert "R000" in found["message"]
    assert "could not be looked at" in dsrt("verify", tmp_path).stdout


def test_a_format_from_the_future_could_not_be_looked_at(dsrt, cache, tmp_path):
    from dsrt_format.checksum import blake3_digest

    content = b'{"format":2}'
    digest = blake3_digest(content).hex().encode()
    manifest = cache / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_bytes(b'{"digest":"' + digest + b'",' + content[1:])
    assert dsrt("verify", cache).exit_code == 2


def test_a_damaged_manifest_is_damage(dsrt, cache):
    manifest = cache / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_bytes(manifest.read_bytes().replace(b'"samples":5', b'"samples":6'))
    result = dsrt("verify", cache, "--json")
    assert result.exit_code == 1
    assert [problem["rule"] for problem in json.loads(result.stdout)["problems"]] == ["R003"]


@pytest.mark.parametrize(
    ("broken", "missing", "code"),
    [(False, False, 0), (True, False, 1), (False, True, 2), (True, True, 1)],
)
def test_of_several_paths_each_is_looked_at_and_damage_decides_the_exit_code(
    dsrt, cache, tmp_path, broken, missing, code
):
    if broken:
        damage(cache)
    other = tmp_path / "nothing" if missing else cache
    result = dsrt("verify", other, cache, "--json")
    assert result.exit_code == code
    assert [json.loads(line)["path"] for line in result.stdout.splitlines()] == [str(other), str(cache)]
