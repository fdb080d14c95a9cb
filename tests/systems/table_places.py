"""Where tests put a table of each format: what `open_sink` takes, and the keys of a job beside it."""


def arguments(format, folder, name="counts of today"):
    """The path or name of a table in a folder, and the options."""
    if format == "delta":
        return str(folder / name), {}
    return f"db.{name}", {"uri": f"sqlite:///{folder}/the lake.db", "warehouse": str(folder / "the lake")}


def keys(format, name="counts of today"):
    """The same as keys of a job in that folder, written relative to it."""
    if format == "delta":
        return {"path": f'"{name}/"'}
    catalog = '{ uri = "sqlite:///the lake.db", warehouse = "the lake/" }'
    return {"table": f'"db.{name}"', "catalog": catalog}
