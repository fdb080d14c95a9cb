"""The files of a new plugin besides its code: its project, README, licence and CI file."""

from importlib.metadata import distribution

from skyband.version import __version__

from skyband_specs.scaffold.names import versions

LICENCE = "Apache-2.0"
_NOTICE = "Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "skyband-{name}"
version = "0.1.0"
description = "{description}"
readme = "README.md"
requires-python = ">=3.11"
license = "{licence}"
license-files = ["LICENSE"]
dependencies = [{dependencies}]

[project.optional-dependencies]
test = ["skyband-specs[pytest]{versions}"]

[project.entry-points.skyband]
{name} = "{package}.hooks"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""

README = """\
# skyband-{name}

{badge}

{text}
`.github/workflows/tests.yml` runs the checks on every push; the badge above says which they are. `LICENSE` is
Apache-2.0, as Skyband's: put your own there and in `pyproject.toml` if you want another. `authors.md`, among the pages
that `skyband docs DIR` writes, lists what a plugin may import.
"""

WORKFLOW = """\
# The checks of everything in this plugin. The badge in README.md says which skyband-specs they are of.
name: tests
on: [push, pull_request]
permissions:
  contents: read

jobs:
  tests:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    strategy:
      matrix:
        python: ["3.11", "3.13"]
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with: {{ python-version: "${{{{ matrix.python }}}}" }}
      - run: pip install -e ".[test]"
      - run: {trial}
      - run: pytest
"""


def package_of(name: str) -> str:
    """The package of a plugin with this name."""
    return f"skyband_{name.replace('-', '_')}"


def files(name: str, description: str, needs: tuple[str, ...], readme: str, trial: str) -> dict[str, str]:
    """The text of each such file by its path.

    needs: its dependencies besides Skyband. readme: the text of README below the badge. trial: the command to try the
    plugin.
    """
    package = package_of(name)
    dependencies = ", ".join(f'"{one}"' for one in sorted([*needs, f"skyband{versions()}"]))
    project = PYPROJECT.format(
        name=name,
        package=package,
        description=description,
        licence=LICENCE,
        dependencies=dependencies,
        versions=versions(),
    )
    return {
        "pyproject.toml": project,
        "README.md": README.format(name=name, badge=badge(), text=readme),
        f"src/{package}/py.typed": "",
        "LICENSE": licence(),
        ".github/workflows/tests.yml": WORKFLOW.format(trial=trial),
    }


def licence() -> str:
    """The text of Skyband's own licence; if it is not installed, a line with its address."""
    return distribution("skyband").read_text("licenses/LICENSE") or _NOTICE


def badge() -> str:
    """A badge with the version of the checks that verified a plugin, those of this Skyband, linked to the CI file."""
    specs = ".".join(__version__.split(".")[:2])
    message = f"verified with skyband-specs {specs}"
    picture = f"https://img.shields.io/badge/verified%20with-skyband--specs%20{specs}-2a7f62"
    return f"[![{message}][badge]][checks]\n\n[badge]: {picture}\n[checks]: .github/workflows/tests.yml"
