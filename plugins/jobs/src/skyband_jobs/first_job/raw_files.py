"""Files without a description: guesses their format and options, and reads their first rows."""

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from skyband.errors import ConfigError, InputError, Problem

from skyband_jobs.files.file_listing import SUFFIXES, data_files, format_by_name
from skyband_jobs.first_job.csv_form import CsvForm, csv_form, encoding_in, marks_of_null, marks_of_numbers
from skyband_jobs.first_job.first_rows import first_rows, with_folders, with_times
from skyband_jobs.tables.model import Source

if TYPE_CHECKING:
    import pyarrow as pa

BYTES = 1 << 22
"""Bytes of text that are looked at."""
_JOB_BYTES = 1 << 16
_CLOCK_WITH_COMMA = re.compile(rb"[0-9]{2}:[0-9]{2}:[0-9]{2},[0-9]{3} ")
"""Times of Java's and Python's logs, whose comma does not separate values."""
_BEGINS_JSON = re.compile(rb"\s*(\[\s*)?\{\s*[\"}]")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}


@frozen
class RawFiles:
    """How to read files, with their columns in `source.schema` if they are text, and their first rows."""

    source: Source
    rows: "pa.Table"
    notes: tuple[str, ...] = ()
    """What was observed, and what was guessed from it, a sentence each."""


def is_data(path: str | Path) -> bool:
    """Whether a path is data rather than a job: a folder, a data file by its name, or a file that is not TOML."""
    path = Path(path)
    if path.is_dir() or format_by_name(path) is not None:
        return True
    if path.suffix.lower() == ".toml" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_JOB_BYTES)
    try:
        tomllib.loads(head.decode())
    except ValueError:
        return b"[source]" not in head
    return False


def candidates(path: Path) -> Iterator[RawFiles]:
    """The ways to read the files of a path, the likeliest first. Raises ConfigError where there is none."""
    files = [file for file in data_files(path) if path.is_file() or format_by_name(file) is not None]
    if not files:
        raise ConfigError(Problem("path", f"{str(path)!r} has no file that ends in {', '.join(SUFFIXES)}"))
    file = files[0]
    if file.stat().st_size == 0:
        raise ConfigError(Problem("path", f"{str(file)!r} is empty: name a file with rows"))
    try:
        yield from _candidates(file, files, path)
    except (OSError, InputError) as error:
        detail = str(error).removeprefix(f"{file}: ")
        raise ConfigError(Problem("path", f"{str(file)!r} cannot be read: {detail}")) from error


def _candidates(file: Path, files: list[Path], path: Path) -> Iterator[RawFiles]:
    name = format_by_name(file) or _format_by_content(file)
    if name not in ("csv", "json", "text"):
        rows = first_rows(Source(name, str(file)))
        yield _in_folders(RawFiles(Source(name, str(path)), rows), files)
        return
    with _head(file) as (head, text, options, notes, is_cut):
        if name == "json":
            yield _in_folders(_at(_json_files(head, text, options), path, notes), files)
        elif name == "csv":
            form = csv_form(text.decode(errors="replace"), is_cut)
            yield _in_folders(_at(_csv_files(head, form, options), path, notes), files)
        elif _BEGINS_JSON.match(text):
            with suppress(ConfigError, InputError):  # a log that starts like JSON
                yield _in_folders(_at(_json_files(head, text, options), path, notes), files)
        elif not _CLOCK_WITH_COMMA.search(text[:_JOB_BYTES]):
            form = csv_form(text.decode(errors="replace"), is_cut)
            with suppress(ConfigError, InputError):  # later lines differ: this is a log
                if form.is_regular:
                    yield _in_folders(_at(_csv_files(head, form, options), path, notes), files)
        if name == "text":
            rows = first_rows(Source("text", str(head)))
            yield _in_folders(RawFiles(Source("text", str(path)), rows, (*notes, "text, one row a line")), files)


def _format_by_content(file: Path) -> str:
    with file.open("rb") as stream:
        begin = stream.read(8)
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), "text")


def _in_folders(raw: RawFiles, files: list[Path]) -> RawFiles:
    source, rows, names = with_folders(raw.source, raw.rows, files)
    return RawFiles(source, rows, (*raw.notes, f"columns of folders: {', '.join(names)}") if names else raw.notes)


def _at(raw: RawFiles, path: Path, notes: tuple[str, ...]) -> RawFiles:
    return evolve(raw, source=evolve(raw.source, path=str(path)), notes=(*notes, *raw.notes))


@contextmanager
def _head(file: Path) -> Iterator[tuple[Path, bytes, Mapping[str, Any], tuple[str, ...], bool]]:
    """The first complete records of a text file: as a UTF-8 file and as text, the options to read it, notes, and
    whether more records follow."""
    from skyband_jobs.files.text_blocks import MARK, MOST
    from skyband_jobs.files.text_encodings import is_compressed, open_text

    with open_text(file) as take:
        encoding = encoding_in(take(1 << 16))
    with open_text(file, encoding) as take:
        text = b""
        while (len(text) < BYTES or (len(text) < MOST and _is_one_object(text))) and (part := take(BYTES)):
            text += part
        is_cut = bool(take(1))
    notes: tuple[str, ...] = (f"compressed, by its suffix {file.suffix}",) if is_compressed(file) else ()
    notes += (f"not UTF-8: read as {encoding}",) if encoding else ()
    text = text.removeprefix(MARK)
    text = _whole_records(text) if is_cut else text
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / "head"
        head.write_bytes(text)
        try:
            yield head, text, ({} if encoding is None else {"encoding": encoding}), notes, is_cut
        except (ConfigError, InputError) as error:
            message = str(error).replace(str(head), str(file)).removeprefix("path: ")
            raise ConfigError(Problem("path", message)) from error


def _is_one_object(text: bytes) -> bool:
    """Whether text starts with a JSON object that does not end in it."""
    import numpy as np

    from skyband_jobs.kernels.record_boundaries import FINE, json_elements, json_lines

    first = np.frombuffer(text.lstrip().partition(b"\n")[0], np.uint8)
    if text.lstrip()[:1] != b"{" or json_lines(first)[0] == FINE:
        return False
    return bool(json_elements(np.frombuffer(text, np.uint8).copy(), 0)[1])


def _whole_records(text: bytes) -> bytes:
    """Text up to the last line end outside quotes; JSON up to its last line end."""
    if text.lstrip()[:1] in (b"{", b"["):
        return text[: text.rfind(b"\n") + 1] or text
    end = len(text)
    while (end := text.rfind(b"\n", 0, end)) >= 0:
        if text.count(b'"', 0, end) % 2 == 0:
            return text[: end + 1]
    return text


def _json_files(head: Path, text: bytes, encoding: Mapping[str, Any]) -> RawFiles:
    from skyband_jobs.first_job.json_form import json_form

    return RawFiles(*json_form(head, text, encoding))


def _csv_files(head: Path, form: CsvForm, encoding: Mapping[str, Any]) -> RawFiles:
    from skyband_jobs.tables.spark_ddl import ddl_of

    options, notes = dict(form.options), list(form.notes)

    def rows_with(**more: Any) -> "pa.Table":
        if form.names is None:
            return first_rows(Source("csv", str(head), options={**options, **more}))
        plain = {name: value for name, value in options.items() if name not in ("header", "enforceSchema")}
        below = {"skipRows": plain.get("skipRows", 0) + 1}
        return first_rows(Source("csv", str(head), options={**plain, **more, **below})).rename_columns(form.names)

    rows = rows_with(inferSchema=True)
    if (null := marks_of_null(rows)) is not None:
        options["nullValue"] = null
        notes.append(f"{null!r} is null")
        rows = rows_with(inferSchema=True)
    decimals, more, notes_of_numbers = marks_of_numbers(rows)
    options |= more
    notes += notes_of_numbers
    schema = with_times(rows, decimals)
    source = Source("csv", str(head), schema=ddl_of(schema), options=dict(options))
    rows = rows if schema == rows.schema else first_rows(source)
    return RawFiles(evolve(source, options={**options, **encoding}), rows, tuple(notes))
