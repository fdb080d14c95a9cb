"""Merges changes into a Delta table of the newest answers, in one commit with the micro-batch number."""

from typing import TYPE_CHECKING, Any

from skyband_jobs.formats import NetChanges

if TYPE_CHECKING:
    import pyarrow as pa

_GONE = "skyband_gone"


def merge(table: Any, changes: NetChanges, commit: Any) -> None:
    """Delete the rows that are gone, and insert or replace the others by key.

    commit: the commit properties.
    """
    merger = table.merge(
        _source(changes),
        predicate=" AND ".join(_same(name) for name in changes.key),
        source_alias="new", target_alias="old",
        commit_properties=commit,
    )  # fmt: skip
    columns = {name: f"new.{_quoted(name)}" for name in changes.rows.column_names}
    stays = f"NOT new.{_GONE}"
    merger.when_matched_delete(predicate=f"new.{_GONE}").when_matched_update(
        {_quoted(name): value for name, value in columns.items()}, predicate=stays
    ).when_not_matched_insert({_quoted(name): value for name, value in columns.items()}, predicate=stays).execute()


def _source(changes: NetChanges) -> "pa.Table":
    """Both kinds of changes in one table; rows that are gone are null except for the key."""
    import pyarrow as pa

    parts = []
    for rows, gone in ((changes.gone, True), (changes.rows, False)):
        for entry in changes.rows.schema:
            if entry.name not in rows.column_names:
                rows = rows.append_column(entry, pa.nulls(len(rows), entry.type))
        rows = rows.select(changes.rows.column_names)
        parts.append(rows.append_column(_GONE, pa.array([gone] * len(rows), pa.bool_())))
    return pa.concat_tables(parts)


def _same(name: str) -> str:
    """A null-safe equality, as `=` is not true for two nulls."""
    old, new = f"old.{_quoted(name)}", f"new.{_quoted(name)}"
    return f"({old} = {new} OR ({old} IS NULL AND {new} IS NULL))"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
