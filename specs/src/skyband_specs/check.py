"""The checks' own vocabulary: `@check` tags a plain function, `expect` fails it."""

from collections.abc import Callable
from typing import Any

from attrs import field, frozen
from skyband.registry.info import CAPABILITIES, GUARANTEES

from skyband_specs.driver import Case

GROUPS = ("oracle", "determinism", "batch-split", "merge", "snapshot", "edges", "bad-input", "memory", "scale")

OPTIONAL = ("odd", "trials")
"""What a driver need not give."""

Make = Callable[..., Any]
Body = Callable[[Make, Case], None]


@frozen(eq=False)
class Check:
    """One thing a backend must do: a function that raises AssertionError where it does not, and when it applies.

    needs: the capabilities without which it says nothing. guarantees: those it holds for.
    once: tried with a backend's first parameter set only, because a run is dear.
    tries: the streams that a role's driver need not give, `odd` or `trials`, without which it says nothing.
    """

    body: Body
    group: str
    needs: tuple[str, ...]
    guarantees: tuple[str, ...]
    once: bool
    tries: str | None = None
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        for value, valid in (
            (self.group, GROUPS),
            *((need, CAPABILITIES) for need in self.needs),
            (self.tries, (None, *OPTIONAL)),
        ):
            if value not in valid:
                raise ValueError(f"{self.body.__name__}: {value!r} is none of {valid}")
        unknown = set(self.guarantees) - set(GUARANTEES)
        if unknown or not self.body.__name__.startswith("check_"):
            raise ValueError(f"{self.body.__name__}: must be called check_… and name known guarantees (got {unknown})")
        object.__setattr__(self, "name", self.body.__name__.removeprefix("check_"))

    def __call__(self, make: Make, case: Case) -> None:
        """Run it on one case."""
        self.body(make, case)


def check(
    group: str,
    *,
    needs: tuple[str, ...] = (),
    guarantees: tuple[str, ...] = GUARANTEES,
    once: bool = False,
    tries: str | None = None,
) -> Callable[[Body], Check]:
    """Tag a function `check_something(make, case)` as a check of `group`."""
    return lambda body: Check(body, group, needs, guarantees, once, tries)


def expect(condition: bool, message: str) -> None:
    """Fail the running check unless `condition`; unlike `assert`, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def expect_equal(got: Any, expected: Any, what: str) -> None:
    """Fail the running check unless the two are equal."""
    if not bool(got == expected):  # what differs is said, and looked for, only then
        raise AssertionError(f"{what}: {difference(got, expected)}")


def difference(got: Any, expected: Any) -> str:
    """Where two pieces of plain data differ first: the smallest list or tuple of plain values that is not the same."""
    place = ""
    while _same_shape(got, expected):
        index = next(i for i, pair in enumerate(zip(got, expected, strict=True)) if pair[0] != pair[1])
        if not isinstance(expected[index], list | tuple | bytes):
            break
        got, expected, place = got[index], expected[index], f"{place}[{index}]"
    message = f"got {brief(got)}, expected {brief(expected)}"
    return f"at {place}, {message}" if place else message


def _same_shape(got: Any, expected: Any) -> bool:
    alike = isinstance(got, list | tuple) and isinstance(expected, list | tuple) and len(got) == len(expected)
    return alike and any(left != right for left, right in zip(got, expected, strict=True))


def brief(value: Any, most: int = 400) -> str:
    """A value's repr, its middle left out where it is long."""
    return shortened(f"{len(value)} bytes" if isinstance(value, bytes) else repr(value), most)


def shortened(text: str, most: int = 400) -> str:
    """A text, its middle left out where it is long."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"
