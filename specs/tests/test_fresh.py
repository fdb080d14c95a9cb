import pytest
from attrs import evolve
from skyband_specs import fresh_process
from skyband_specs.fresh_process import digest, digest_in_fresh_process


def test_a_class_is_found_by_its_file(toy_case):
    assert digest_in_fresh_process(toy_case, seed=1) == digest(toy_case.make, toy_case, seed=1)


def test_the_digest_depends_on_the_stream(toy_case):
    assert digest(toy_case.make, toy_case, seed=1) != digest(toy_case.make, toy_case, seed=2)


def test_a_child_that_fails_says_why(toy_case):
    gone = type("Gone", (toy_case.factory,), {"__module__": toy_case.factory.__module__})
    with pytest.raises(AssertionError, match=r"(?s)a fresh process failed.*has no attribute 'Gone'"):
        digest_in_fresh_process(evolve(toy_case, factory=gone), seed=1)


@pytest.mark.parametrize("own", ["1", "2", "random", None])
def test_the_child_has_another_hash_seed(monkeypatch, own):
    if own is None:
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    else:
        monkeypatch.setenv("PYTHONHASHSEED", own)
    assert fresh_process.other_hash_seed() in {"1", "2"} - {own}


def test_a_class_in_a_script_is_refused(toy_case):
    scripted = type("Scripted", (toy_case.factory,), {"__module__": "__main__"})
    with pytest.raises(AssertionError, match="Scripted is in a script"):
        digest_in_fresh_process(evolve(toy_case, factory=scripted), seed=1)


def test_a_child_has_no_children(toy_case, monkeypatch):
    monkeypatch.setenv(fresh_process.CHILD, "1")
    with pytest.raises(AssertionError, match="asked to start another"):
        digest_in_fresh_process(toy_case, seed=1)
