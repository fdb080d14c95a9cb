"""A third party's question about states of its backend: on the command line, in Python and in SQL."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import states
from skyband.cli.commands import group
from skyband.errors import InputError, SnapshotError
from skyband.registry import installed
from skyband.states.coverage import Coverage
from skyband.states.object_names import extra_arrays
from skyband.states.state import encode_state

HOOKS = """
    from skyband import BackendInfo, hookimpl

    @hookimpl
    def skyband_backends():
        return [BackendInfo("sketch", "acme", "nowhere:Acme", "times", "exact", "by definition", reader="acme:Reader")]
"""
MODULE = '''
    from typing import Any, ClassVar, NamedTuple

    import numpy as np
    import pyarrow as pa
    from attrs import define
    from skyband.config.parameters import checked, number
    from skyband.config.half_open_ranges import range_parameter
    from skyband.roles.answering_reader import AnsweringReader
    from skyband.states.question import Question

    class Reader(AnsweringReader):
        questions = ("acme:Span", "acme:Visits", "acme:Gap")
        object_ids = "ids"
        latest, floor = None, -(2**63)

        def __init__(self, parameters, state):
            self.times, self.ids = state["times"], state["ids"]

        @property
        def retained(self):
            return len(self.times)

    @define
    class Span(Question):
        """How far the first and the last row of a window are apart."""

        name = "span"
        result = pa.struct([("rows", pa.int64()), ("span", pa.float64())])
        unit: float = number(1.0, above=0, help="microseconds of one")
        between: Any = range_parameter(help="only ids in this range")
        each = ("between",)

        def answer(self, states, since):
            times = np.concatenate([state.reader.times[self.of(state) & (state.reader.times >= moment)]
                                    for state, moment in zip(states, since, strict=True)])
            return len(times), (times.max() - times.min()) / self.unit if len(times) else 0.0

        def of(self, state):
            return self.between.holds(state.reader.ids) if self.between else np.ones(len(state.reader.ids), bool)

    @define
    class Visits(Question):
        """Who came, and when first."""

        name = "visits"
        result = pa.list_(pa.struct([("who", pa.string()), ("first", pa.int64())]))
        objects = "who"
        ids: Any = checked((), type="list", check=lambda value: None, help="only these ids", converter=tuple)

        def answer(self, states, since):
            ids = np.unique(np.concatenate([state.reader.ids for state in states]))
            ids = ids[np.isin(ids, self.ids)] if self.ids else ids
            first = [min(int(state.reader.times[state.reader.ids == one].min(initial=2**62)) for state in states)
                     for one in ids.tolist()]
            return {"who": ids, "first": np.array(first)}

    @define
    class Gap(Question):
        """How far apart the last rows of two are."""

        name = "gap"
        result = pa.float64()
        of_pairs = True

        def answer(self, states, since):
            left, right = (state.reader.times.max() for state in states)
            return float(abs(left - right))
'''
AT = 1_760_000_000_000_000


def state(times, ids, at=AT):
    names = pa.RecordBatch.from_pydict({"id": pa.array([1, 2, 3]), "name": ["ann", "bob", "cy"]})
    arrays = {"times": AT + np.array(times), "ids": np.array(ids)}
    return encode_state("sketch", "acme", {}, {**arrays, **extra_arrays(names, 0)}, Coverage(at, at - 3_600_000_000))


ONE, OTHER = state([-90, -50, -10], [1, 2, 1]), state([-70, -20], [3, 2])


@pytest.fixture
def acme(site):
    site.module("acme", MODULE)
    site.install("acme-states", HOOKS)
    installed.cache_clear()
    yield site
    installed.cache_clear()


def test_in_python(acme):
    assert states.span(ONE) == (3, 80.0)
    assert states.span([ONE, OTHER], unit=10) == (5, 8.0)
    assert states.span([ONE, OTHER], since=AT - 55) == (3, 40.0)
    assert states.span(ONE, between=(2, None)) == (1, 0.0)
    assert states.visits([ONE, OTHER]).to_pylist() == [
        {"who": "ann", "first": AT - 90},
        {"who": "bob", "first": AT - 50},
        {"who": "cy", "first": AT - 70},
    ]
    assert states.gap(ONE, OTHER) == 10
    assert {"span", "visits", "gap", "estimate"} <= {*states.__all__}
    assert "microseconds of one" in states.span.__doc__
    with pytest.raises(InputError, match=r"unit: must be above 0 \(got 0.0\)"):
        states.span(ONE, unit=0)
    with pytest.raises(InputError, match="unti: unknown; did you mean 'unit'"):
        states.span(ONE, unti=1)
    with pytest.raises(SnapshotError, match=r"sketch/acme, which does not answer estimate \(it answers span, visits"):
        states.estimate(ONE)


def test_on_the_command_line(acme, tmp_path):
    table = pa.table(
        {"at": pa.array([AT] * 2, pa.timestamp("us", "UTC")), "team": ["x", "y"], "state": [ONE, OTHER]},
    )
    pq.write_table(table, tmp_path / "states.parquet")

    def ask(*options):
        ran = CliRunner().invoke(group, ["ask", str(tmp_path / "states.parquet"), *options])
        return ran.stdout if ran.exit_code == 0 and "--json" not in options else (ran.exit_code, ran.stderr)

    def answers(*options):
        ran = CliRunner().invoke(group, ["ask", str(tmp_path / "states.parquet"), "--json", *options])
        assert ran.exit_code == 0, ran.stderr
        return [
            {name: value for name, value in row.items() if name not in ("last", "team")}
            for row in json.loads(ran.stdout)["answers"]
        ]

    assert answers("--by", "team", "--union") == [
        {"rows": 3, "span": 80.0},
        {"rows": 2, "span": 50.0},
        {"rows": 5, "span": 80.0},
    ]
    assert answers("--union", "--unit", "10")[-1] == {"rows": 5, "span": 8.0}
    ranges = answers("--union", "--between", "1", "2", "--between", "2", "inf")
    assert [(row["between"], row["rows"]) for row in ranges][-2:] == [("[1, 2)", 2), ("[2, inf)", 3)]
    expected = [{"who": "bob", "first": AT - 50}, {"who": "cy", "first": AT - 70}]
    assert answers("--by", "team", "--union", "--ids", "2", "--ids", "3")[-2:] == expected
    assert len(answers("--by", "team", "--union", "--question", "visits")) == 2 + 2 + 3
    shown = ask("--help")
    assert "--unit" in shown and "microseconds of one" in shown and "--between" in shown and "-k" in shown
    assert ask("-k", "3") == (
        1,
        "error: k: belongs to the question heavy_hitters, but these are states of sketch/acme, which answer "
        "span, visits (got 3)\n",
    )


def test_without_a_plugin_it_says_what_to_install(site, tmp_path):
    pq.write_table(pa.table({"at": [0], "state": [ONE]}), tmp_path / "states.parquet")
    ran = site.run("ask", str(tmp_path), "-k", "3", SKYBAND_PLUGINS="skyband-distinct")
    assert "No such option" in ran.stderr and "it comes with skyband-totals: pip install skyband-totals" in ran.stderr


def test_a_broken_reader_harms_no_other(site):
    site.module("acme_broken", "import no_such_module")
    site.install("acme-states", HOOKS.replace("acme:Reader", "acme_broken:Reader"))
    installed.cache_clear()
    try:
        assert states.heavy_hitters.__name__ == "heavy_hitters"
        with pytest.raises(AttributeError, match="no_such_module"):
            _ = states.span
    finally:
        installed.cache_clear()
