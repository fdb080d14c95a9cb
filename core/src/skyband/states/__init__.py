"""States as data: a state answers for any window that it covers, alone or united with others.

Besides the names below, there is a function for each question that readers of installed backends answer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.states.description import Description as Description
    from skyband.states.description import describe as describe
    from skyband.states.uniting import union as union

_OWN = {"Description": "description", "describe": "description", "union": "uniting"}
"""Where its own names are: imported on use, so that a worker loads no more than it needs."""


def __getattr__(name: str) -> Any:
    """The function of a question, created on first use."""
    if name == "__all__":
        return [*_OWN, *_questions()]
    if name in _OWN:
        return getattr(import_module(f"skyband.states.{_OWN[name]}"), name)
    if not name.startswith("_"):
        from skyband.registry.install_hints import comes_with
        from skyband.states.functions import function_of, problems

        try:
            return function_of(name)
        except KeyError:
            hint = comes_with(name)
            message = f"skyband.states.{name} is not installed{hint}" if hint else f"skyband.states has no {name!r}"
            raise AttributeError("; ".join([message, *problems()])) from None
    raise AttributeError(f"module 'skyband.states' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_OWN, *_questions()})


def _questions() -> list[str]:
    from skyband.states.functions import exported, questions

    return sorted([*questions(), *exported()])
