"""The vocabulary of the checks: `@check` marks a plain function as a check, `expect` makes it fail."""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import field, frozen
from skyband.errors import ConfigError, InputError
from skyband.registry.info import CAPABILITIES, GUARANTEES

from skyband_specs.driver import Case

GROUPS = ("oracle", "determinism", "batch-split", "merge", "snapshot", "edges", "bad-input", "memory", "scale")

OPTIONAL = ("odd", "trials")
"""The streams that a driver need not provide."""

Make = Callable[..., Any]
Body = Callable[[Make, Case], None]


@frozen(eq=False)
class Check:
    """One requirement of backends: a function that raises AssertionError where it is not met, and when it applies.

    needs: the capabilities that it requires. guarantees: those it holds for. once: run only with a backend's first
    parameter set, as a run is expensive. tries: the optional streams of a role's driver, `odd` or `trials`, that it
    needs.
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
                raise ValueError(f"{self.body.__name__}: {value!r} is not one of {valid}")
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
    """Mark a function `check_something(make, case)` as a check of `group`."""
    return lambda body: Check(body, group, needs, guarantees, once, tries)


def expect(condition: bool, message: str) -> None:
    """Fail the running check unless `condition`; unlike `assert`, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def expect_equal(got: Any, expected: Any, what: str) -> None:
    """Fail the running check unless the two are equal."""
    if not bool(got == expected):  # the difference is only computed on failure
        raise AssertionError(f"{what}: {difference(got, expected)}")


def expect_refused(make: Make, field_: str, **wrong: Any) -> None:
    """Fail the running check unless a backend with these parameters is refused, with only this one named."""
    try:
        make(**wrong)
    except ConfigError as error:
        expect_equal([problem.field for problem in error.problems], [field_], f"fields named for {wrong}")
    else:
        expect(False, f"{wrong} was accepted")


def expect_time_only_advances(backend: Any, observe: Callable[[], Any]) -> None:
    """Fail the running check unless advancing twice equals advancing once, and going back is refused."""
    backend.advance(backend.now + 1)
    before = observe()
    backend.advance(backend.now)
    expect_equal(observe(), before, "after advancing to where it was")
    expect_inputs_refused([("going back in time", lambda: backend.advance(backend.now - 1))], observe)


def expect_inputs_refused(calls: Iterable[tuple[str, Callable[[], Any]]], observe: Callable[[], Any]) -> None:
    """Fail the running check unless each labelled call raises InputError and `observe` returns the same after it."""
    before = observe()
    for label, call in calls:
        try:
            call()
        except InputError:
            expect_equal(observe(), before, f"after {label}, which was refused")
            continue
        raise AssertionError(f"{label}: was accepted; it must raise InputError")


def difference(got: Any, expected: Any) -> str:
    """The first difference of two pieces of plain data: the smallest list or tuple of plain values that differs."""
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
    """A value's repr, with the middle cut out if it is long."""
    return shortened(f"{len(value)} bytes" if isinstance(value, bytes) else repr(value), most)


def shortened(text: str, most: int = 400) -> str:
    """A text, with the middle cut out if it is long."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"
