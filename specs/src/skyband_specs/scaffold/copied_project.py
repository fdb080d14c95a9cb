"""The files of a new plugin that brings a kind of query, from its name."""

import inspect
from importlib import import_module

from skyband.registry.info import API

from skyband_specs.scaffold import repository_files
from skyband_specs.scaffold.names import class_name, renamed, versions

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "skyband-{name}"
version = "0.1.0"
description = "The query {name} for Skyband: {summary}"
readme = "README.md"
requires-python = ">=3.11"
license = "{licence}"
license-files = ["LICENSE"]
dependencies = ["attrs>=24.2", "numpy>=2.0", "pyarrow>=19.0.1", "skyband{versions}"]

[project.optional-dependencies]
test = ["skyband-specs[pytest]{versions}"]

[project.entry-points.skyband]
{name} = "{package}.hooks"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""

HOOKS = '''\
"""What this distribution brings; imported to list it, so it imports no query."""

from skyband import QueryInfo, hookimpl


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The kinds of query."""
    return [
        QueryInfo(
            kind="{name}",
            factory="{package}.query:{cls}",
            summary="{summary}",
            api={api},
            examples="{package}.examples:EXAMPLES",
        ),
    ]
'''

TESTS = '''\
"""Every query of this distribution keeps the contract of queries: one test a check."""

DISTRIBUTION = "skyband-{name}"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
'''

README = """\
# skyband-{name}

{badge}

The query `{name}` for [Skyband](https://pypi.org/project/skyband/): {summary}.

```sh
pip install -e ".[test]"
skyband describe query/{name}
skyband verify query/{name}
pytest
```

```python
import pyarrow as pa
from skyband.engines import local

rows = pa.table({{"ts": pa.array([1, 2, 7], pa.timestamp("s", "UTC")), "size": [10, 20, 40]}})
query = {{"kind": "{name}", "time": "ts", "value": "size", "window": "10 seconds", "every": "5 seconds"}}
print(local.apply(rows, query)["sum"].to_pylist())  # [30, 70]
```

In a job:

```toml
[query]
kind = "{name}"
time = "ts"
value = "size"
window = "10 minutes"
every = "1 minute"
```

## Make it yours

| file | holds |
|---|---|
| `src/{package}/query.py` | the query, its keys and columns; and its `Execution`, how one group's stream is answered |
| `src/{package}/examples.py` | keys and rows that the checks try it on, and `oracle`, the answers by the definition |
| `src/{package}/hooks.py` | what is said of it without importing it |
| `tests/test_conformance.py` | the checks of queries, which it passes as it stands |
| `.github/workflows/tests.yml` | what runs them on every push; the badge above says which they are |
| `LICENSE` | Apache-2.0, as Skyband: put your own there and into `pyproject.toml` if you want another |

A key is a field made with `skyband.config.parameters` or `skyband.config.durations`; `skyband describe`, jobs and their
checks read it there. The guide "Writing a query" says what each method is for, and `authors.md`, among the pages that
`skyband docs DIR` writes, what may be imported.
"""

SUMMARY = "the sum of a column of whole numbers over a sliding window"


def render_query(name: str) -> dict[str, str]:
    """The text of each file of a plugin that brings the query `name`, by its path."""
    package = f"skyband_{name.replace('-', '_')}"
    cls = class_name(name, "Query")
    facts = {
        "name": name, "package": package, "cls": cls, "versions": versions(), "api": API, "summary": SUMMARY,
        "licence": repository_files.LICENCE, "badge": repository_files.badge(),
    }  # fmt: skip
    sources = {
        part: inspect.getsource(import_module(f"skyband_specs.scaffold.{part}")) for part in ("query", "query_example")
    }
    home = f"src/{package}"
    return {
        "pyproject.toml": PYPROJECT.format(**facts),
        "README.md": README.format(**facts),
        f"{home}/__init__.py": f'"""The query {name}: {SUMMARY}."""\n',
        f"{home}/hooks.py": HOOKS.format(**facts),
        f"{home}/query.py": renamed(sources["query"], name, cls),
        f"{home}/examples.py": renamed(sources["query_example"], name, cls),
        f"{home}/py.typed": "",
        "tests/test_conformance.py": TESTS.format(**facts),
        **repository_files.files(f"query/{name}"),
    }
