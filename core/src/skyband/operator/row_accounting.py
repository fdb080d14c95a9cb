"""Rows in are rows that are answered for and rows that are counted as left out: checked wherever rows change hands."""

from skyband.errors import EngineError


def check_sum(rows: int, accounted: int, where: str) -> None:
    """Raise EngineError unless so many rows came in as are accounted for; where: what had them, as a sentence has it.

    No row can bring that about, however bad it is: the program is at fault, and answers would be wrong without a word.
    So a run ends by it, before anything of the micro-batch is kept.
    """
    if rows == accounted:
        return
    difference = f"{rows - accounted:,} are lost" if accounted < rows else f"{accounted - rows:,} are counted twice"
    message = f"of {rows:,} rows that came in, {difference}: {where}"
    remedy = "a fault of Skyband or of a plugin, by which answers would be wrong: report it; what ended before is kept"
    raise EngineError(f"{message}; {remedy}")
