"""The files of a new plugin, from a role and a name."""

import inspect
from importlib import import_module
from importlib.util import find_spec

from attrs import field, frozen

from skyband.errors import PluginError
from skyband.registry import installed, interface_of
from skyband.registry.info import API
from skyband.scaffold import repository_files
from skyband.scaffold.names import class_name, renamed, versions
from skyband.scaffold.method_outline import outline

_NOTHING_TO_MERGE = {"merge": "nothing merges these; the answers of two can be joined instead"}
_CLOCK = {"out-of-order": "windows follow a clock that never goes back"}
_ARRIVALS = {"out-of-order": "positions count tuples in their order of arrival"}


@frozen
class Template:
    """What a backend of a role begins as, with what its plugin says of it and an example.

    summary, reference, lacks: as `BackendInfo` has them. example: a program that creates the backend `mine` and prints
    what it answers, with what that is in comments.

    source: the dotted name of a module with a class Mine…, the backend `mine`, which is copied under the new name.
    Without it the abstract methods of the interface are what is left to write; core's stand in `scaffold/<role>.py`.
    """

    summary: str
    reference: str
    example: str
    lacks: dict[str, str] = field(factory=dict)
    source: str | None = None


TEMPLATES = {
    "sketch": Template(
        summary="every key with its latest time",
        reference="the definition: keys whose latest time is at or after the moment",
        example="""\
sketch = skyband.create("sketch", "mine")
sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
print(sketch.estimate(since=7))  # 3.0""",
    ),
    "window": Template(
        summary="the kept probabilities, added up anew for every decision",
        reference="the definition: the shortest suffix that holds `size` existing tuples with probability alpha",
        lacks={**_NOTHING_TO_MERGE, **_ARRIVALS},
        example="""\
window = skyband.create("window", "mine", size=2, alpha=0.75)
print(window.append(np.full(6, 0.5)))  # [0 0 0 0 0 1]
print(window.presence())  # [0.3125 0.5    0.75   1.     1.    ]""",
    ),
    "matcher": Template(
        summary="every sample of a probe against every sample held",
        reference="the definition: the sum of Pr(u)·Pr(v) over the samples within epsilon",
        lacks={**_NOTHING_TO_MERGE, **_ARRIVALS},
        example="""\
matcher = skyband.create("matcher", "mine", epsilon=0.5)
matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
positions, chances = matcher.match(values=[1.2], probabilities=[1.0])
print(positions, chances)  # [0] [0.5]""",
    ),
    "object-ranker": Template(
        summary="every valid report, and every object scored anew for each answer",
        reference="the definition: the aggregate of an object's valid values",
        lacks={**_NOTHING_TO_MERGE, **_CLOCK},
        example="""\
ranker = skyband.create("object-ranker", "mine", k=2, window=10, streams=2)
ranker.update(times=[1, 2, 3], streams=[0, 1, 0], objects=[7, 7, 8], values=[0.5, 0.25, 0.625])
objects, scores = ranker.top()
print(objects, scores)  # [7 8] [0.75  0.625]""",
    ),
    "pair-ranker": Template(
        summary="every valid pair, each found when its younger set comes",
        reference="the definition: the similarity of every two sets of the window",
        lacks={**_NOTHING_TO_MERGE, **_CLOCK},
        example="""\
ranker = skyband.create("pair-ranker", "mine", k=1, window=10)
ranker.update(times=[1, 2, 3], offsets=[0, 2, 4, 7], tokens=[1, 2, 5, 6, 1, 2, 3])
left, right, similarity = ranker.top()
print(left, right, similarity.round(3))  # [0] [2] [0.667]""",
    ),
    "workload-ranker": Template(
        summary="the rows of the windows to come, sorted whenever an answer is due",
        reference="the definition: the top k of [T - window, T) at every moment T of a query",
        lacks={**_NOTHING_TO_MERGE, **_CLOCK},
        example="""\
ranker = skyband.create("workload-ranker", "mine", queries=[(4, 2, 1)])  # window, slide, k
for answer in ranker.update(times=[1, 2, 4], objects=[7, 8, 9], scores=[0.5, 0.25, 0.75]):
    print(answer.at, answer.objects, answer.scores)
# 2 [7] [0.5]
# 4 [7] [0.5]""",
    ),
}

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "skyband-{name}"
version = "0.1.0"
description = "{role}/{name} for Skyband: {summary}"
readme = "README.md"
requires-python = ">=3.11"
license = "{licence}"
license-files = ["LICENSE"]
dependencies = ["attrs>=24.2", "numpy>=2.0", "skyband{versions}"{brought_by}]

[project.optional-dependencies]
test = ["skyband-specs[pytest]{versions}"]

[project.entry-points.skyband]
{name} = "{package}.hooks"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""

HOOKS = '''\
"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="{role}",
            name="{name}",
            factory="{package}.{module}:{cls}",
            summary="{summary}",
            guarantee="exact",
            reference="{reference}",
            api={api},
{lacks}        ),
    ]
'''

TESTS = '''\
"""Every backend of this distribution keeps the contract of its role: one test a check."""

DISTRIBUTION = "skyband-{name}"

from skyband_specs.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
'''

README = """\
# skyband-{name}

{badge}

`{role}/{name}`, a backend for [Skyband](https://pypi.org/project/skyband/):
{summary}.

```sh
pip install -e ".[test]"
skyband describe {role}/{name}
skyband verify {role}/{name}
pytest
```

```python
import numpy as np
import skyband

{example}
```

In a job:

```toml
[backends]
{role} = "{name}"
```

## Make it yours

| file | holds |
|---|---|
| `src/{package}/{module}.py` | the algorithm: {begins} |
| `src/{package}/hooks.py` | what it promises: guarantee, paper, and what it lacks, each with the reason |
| `tests/test_conformance.py` | the checks of its role, which it passes {passes} |
| `.github/workflows/tests.yml` | what runs them on every push; the badge above says which they are |
| `LICENSE` | Apache-2.0, as Skyband: put your own there and into `pyproject.toml` if you want another |

A parameter is a field made with `skyband.config.parameters`, such as
`epsilon: float = number(0.05, above=0, below=1, help="relative error")`; `skyband describe`, jobs and their checks read
it there. The checks try the role's parameter sets, and those that the hook `skyband_cases` adds. A backend that is off
by at most epsilon, but for a share delta of its answers, has `guarantee="bounded"` and is held to that. What may be
imported is in `authors.md`, among the pages that `skyband docs DIR` writes.
"""


SIMPLE = {"begins": "a simple one that is right, to replace by yours", "passes": "as it stands"}
EMPTY = {"begins": "methods to be written, as the role brings no example", "passes": "once its methods are written"}


def render(role: str, name: str) -> dict[str, str]:
    """The text of each file of a plugin that brings `role/name`, by its path."""
    template, module = _template_of(role), role.replace("-", "_")
    cls = class_name(name, interface_of(role).__name__)
    package = f"skyband_{name.replace('-', '_')}"
    facts = {
        "role": role, "name": name, "package": package, "module": module, "cls": cls, "versions": versions(),
        "api": API, "summary": template.summary, "reference": template.reference,
        "licence": repository_files.LICENCE, "badge": repository_files.badge(),
        "brought_by": _brought_by(role), **(SIMPLE if role in TEMPLATES or template.source else EMPTY),
        "lacks": _lacks(template.lacks), "example": template.example.replace('"mine"', f'"{name}"'),
    }  # fmt: skip
    home = f"src/{package}"
    return {
        "pyproject.toml": PYPROJECT.format(**facts),
        "README.md": README.format(**facts),
        f"{home}/__init__.py": f'"""{role}/{name}: {template.summary}."""\n',
        f"{home}/hooks.py": HOOKS.format(**facts),
        f"{home}/{module}.py": renamed(_source_of(role, template), name, cls),
        f"{home}/py.typed": "",
        "tests/test_conformance.py": TESTS.format(**facts),
        **repository_files.files(f"{role}/{name}"),
    }


def _brought_by(role: str) -> str:
    """The distribution that brings a role, as a further dependency; nothing for core's."""
    if role in TEMPLATES:
        return ""
    entry = next(entry for entry in installed().role_listing() if entry.info.name == role)
    return f', "{entry.distribution}>={entry.version}"'


def _template_of(role: str) -> Template:
    """Core's, or that of the module `template` of a plugin's conformance package; else one with nothing in it."""
    if role in TEMPLATES:
        return TEMPLATES[role]
    package = installed().role(role).conformance
    if package is not None and find_spec(f"{package}.template") is not None:
        made = getattr(import_module(f"{package}.template"), "TEMPLATE", None)
        if not isinstance(made, Template):
            raise PluginError(f"role {role}: {package}.template must have TEMPLATE, a Template (got {made!r})")
        return made
    example = f'backend = skyband.create("{role}", "mine")'
    return Template("what it does, in a few words", "where it is from: a paper, or the definition", example)


def _source_of(role: str, template: Template) -> str:
    if role in TEMPLATES:
        return inspect.getsource(import_module(f"skyband_specs.{role.replace('-', '_')}.minimal"))
    if template.source is not None:
        return inspect.getsource(import_module(template.source))
    return outline(role, interface_of(role))


def _lacks(lacks: dict[str, str]) -> str:
    if not lacks:
        return ""
    lines = [f'                "{capability}": "{reason}",' for capability, reason in lacks.items()]
    return "\n".join(["            lacks={", *lines, "            },", ""])
