"""Python environments for executors: what this one has, but some of our distributions missing or of another version."""

import importlib.util
import shutil
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

OURS = ("skyband", "skyband-expressions", "skyband-jobs", "skyband-spark", "skyband-distinct", "skyband-panes")


def make_environment(folder: Path, changed: Mapping[str, str | None] | None = None) -> Path:
    """The Python of a new environment. `changed`: by distribution, its version there; None where it is missing.

    Ours are copied, everything else is linked to what this environment has.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "skyband" not in entry.name and not (site / entry.name).exists():
            (site / entry.name).symlink_to(entry)
    for name in OURS:
        given = (changed or {}).get(name, distribution(name).version)
        if given is not None:
            _copy(name, given, site)
    return scripts / "python"


def _copy(name: str, version: str, site: Path) -> None:
    package = name.replace("-", "_")
    found = importlib.util.find_spec(package)
    target = site / package
    shutil.copytree(Path(found.origin).parent, target)  # with the kernels that are compiled: a worker need not again
    main = target / "__init__.py"
    main.write_text(main.read_text("utf-8").replace(f'"{distribution(name).version}"', f'"{version}"'), "utf-8")
    info = site / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(distribution(name).read_text("entry_points.txt") or "")


def pack(folder: Path, archive: Path) -> None:
    """The archive of an environment, as `tar czf archive -C folder .` makes it."""
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(folder, ".")


if __name__ == "__main__":
    sys.stdout.write(f"{make_environment(Path(sys.argv[1]))}\n")
