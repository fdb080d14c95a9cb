"""The files of a new plugin, from a role and a name."""

import inspect
from importlib import import_module
from importlib.util import find_spec

from attrs import field, frozen
from skyband.errors import PluginError
from skyband.registry import installed, interface_of
from skyband.registry.discovery import OURS
from skyband.registry.info import API

from skyband_specs.scaffold import repository_files
from skyband_specs.scaffold.method_outline import outline
from skyband_specs.scaffold.names import class_name, renamed


@frozen
class Template:
    """The initial backend of a role, with its plugin's description and an example.

    summary, reference, lacks: as in `BackendInfo`. example: a program that creates the backend `mine` and prints its
    answers, with the output in comments.
    source: the dotted name of a module with a class Mine…, the backend `mine`, which is copied under the new name.
    Without it the abstract methods of the interface are left to write.
    job: the tables of a job that use `mine`, if a query names backends of the role in its keys; else [backends].
    """

    summary: str
    reference: str
    example: str
    lacks: dict[str, str] = field(factory=dict)
    source: str | None = None
    job: str | None = None


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
{job}
```

## Make it yours

| file | holds |
|---|---|
| `src/{package}/{module}.py` | the algorithm: {begins} |
| `src/{package}/hooks.py` | what it promises: guarantee, paper, and what it lacks, each with the reason |
| `tests/test_conformance.py` | the checks of its role, which it passes {passes} |

A parameter is a field made with `skyband.config.parameters`, such as
`epsilon: float = number(0.05, above=0, below=1, help="relative error")`; `skyband describe`, jobs and their checks read
it there. The checks try the role's parameter sets, and those that the hook `skyband_cases` adds. A backend that is off
by at most epsilon, except in a share delta of its answers, has `guarantee="bounded"` and is checked for that.
"""


SIMPLE = {"begins": "a simple, correct one, to replace with yours", "passes": "as it is"}
EMPTY = {"begins": "methods to be written, as the role has no example", "passes": "once its methods are written"}


def render(role: str, name: str) -> dict[str, str]:
    """The text of each file of a plugin that brings `role/name`, by its path."""
    template, module = template_of(role), role.replace("-", "_")
    cls, package = class_name(name, interface_of(role).__name__), repository_files.package_of(name)
    facts = {
        "role": role, "name": name, "package": package, "module": module, "cls": cls, "api": API,
        "summary": template.summary, "reference": template.reference,
        **(SIMPLE if template.source else EMPTY),
        "lacks": _lacks(template.lacks), "example": template.example.replace('"mine"', f'"{name}"'),
        "job": (template.job or f'[backends]\n{role} = "mine"').replace('"mine"', f'"{name}"'),
    }  # fmt: skip
    description = f"{role}/{name} for Skyband: {template.summary}"
    needs = ("attrs>=24.2", "numpy>=2.0", *_brought_by(role))
    home, trial = f"src/{package}", f"skyband verify {role}/{name}"
    return {
        **repository_files.files(name, description, needs, README.format(**facts), trial),
        f"{home}/__init__.py": f'"""{role}/{name}: {template.summary}."""\n',
        f"{home}/hooks.py": HOOKS.format(**facts),
        f"{home}/{module}.py": renamed(_source_of(role, template), name, cls),
        "tests/test_conformance.py": TESTS.format(**facts),
    }


def _brought_by(role: str) -> tuple[str, ...]:
    """The distribution that brings a role, as an additional dependency; nothing for core's."""
    entry = next(entry for entry in installed().role_listing if entry.info.name == role)
    return () if entry.distribution == OURS else (f"{entry.distribution}>={entry.version}",)


def template_of(role: str) -> Template:
    """The template in the role's conformance package, else an empty one."""
    package = installed().role(role).conformance
    if package is not None and find_spec(f"{package}.template") is not None:
        template = getattr(import_module(f"{package}.template"), "TEMPLATE", None)
        if not isinstance(template, Template):
            raise PluginError(f"role {role}: {package}.template must have TEMPLATE, a Template (got {template!r})")
        return template
    example = f'backend = skyband.create("{role}", "mine")'
    return Template("what it does, in a few words", "where it is from: a paper, or the definition", example)


def _source_of(role: str, template: Template) -> str:
    if template.source is not None:
        return inspect.getsource(import_module(template.source))
    return outline(role, interface_of(role))


def _lacks(lacks: dict[str, str]) -> str:
    if not lacks:
        return ""
    lines = [f'                "{capability}": "{reason}",' for capability, reason in lacks.items()]
    return "\n".join(["            lacks={", *lines, "            },", ""])
