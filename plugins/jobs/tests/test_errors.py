"""Errors name the place, the value and the remedy, and can be sent between processes."""

import pickle
from pathlib import Path

import pytest
from skyband.errors import ConfigError, InputError, Problem, SnapshotError, suggest
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.job.job_error import secrets_hidden


def test_the_closest_name_is_suggested():
    assert suggest("pcsa-m", ["k-skb", "pcsa-ml"]) == "did you mean 'pcsa-ml'?"


def test_if_nothing_is_close_all_are_named_in_order():
    assert suggest("zzz", ["b", "a"]) == "known: a, b"
    assert suggest("zzz", []) == "there are none"


def test_what_is_no_word_is_suggested_for_too():
    assert suggest(None, ["a"]) == "known: a"


def test_a_problem_is_prefixed_with_its_place():
    assert str(Problem("k", "must be at least 1").within("query")) == "query.k: must be at least 1"
    assert str(Problem("", "is required").within("query")) == "query: is required"


def test_a_config_error_lists_every_problem():
    error = ConfigError(Problem("a", "is wrong"), Problem("b", "too"))
    assert str(error) == "a: is wrong\nb: too"
    assert [problem.field for problem in error.problems] == ["a", "b"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("times", "go back", 3), "times, row 3: go back"),
        (InputError("times", "are missing"), "times: are missing"),
        (ConfigError(Problem("k", "is wrong")), "k: is wrong"),
        (SnapshotError("damaged"), "damaged"),
    ],
)
def test_errors_survive_pickling(error, said):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error) == said
    assert vars(again) == vars(error)


def test_an_error_that_is_its_own_cause_ends_a_run():
    error = InputError("a.csv", "the quote in line 2 is not closed")
    error.__cause__ = error
    with pytest.raises(InputError, match="not closed"), secrets_hidden():
        raise error


def test_an_error_that_names_its_file_is_not_its_own_cause():
    def read(part):
        yield from ()
        raise InputError(str(part.path), "is no file of ours")

    with pytest.raises(InputError) as refusal:
        list(PlacedBatches((FilePart(Path("a.csv")),), read, lambda batch: (batch, None)))
    assert refusal.value.__cause__ is None


def test_what_a_row_breaks_is_told_by_its_file_once():
    batches = PlacedBatches((FilePart(Path("a.csv")),), lambda _: iter(["row"]), lambda batch: (batch, None))
    for _ in batches:
        with pytest.raises(InputError, match=r"^a\.csv: n, row 3: is late$") as refusal, batches.placing():
            raise InputError("n", "is late", 3)
        with pytest.raises(InputError, match=r"^a\.csv: n, row 3: is late$") as again, batches.placing():
            raise refusal.value
        assert again.value is refusal.value
        assert str(again.value.__cause__) == "n, row 3: is late"
        assert again.value.__cause__.__cause__ is None
