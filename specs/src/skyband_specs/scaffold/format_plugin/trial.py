"""The table that `skyband verify format/mine` writes and reads."""

from pathlib import Path

from skyband_jobs.formats import TableKeys
from skyband_specs.formats import FormatTrial


class MineTrial(FormatTrial):
    """Names a file in the folder of a check."""

    def keys(self, folder: Path) -> TableKeys:
        return TableKeys(path=str(folder / "answers.arrow"))
