"""What the conformance checks try a database with: a table for each folder, in the database at TRIAL_URL."""

import os
from datetime import UTC
from zlib import crc32

import sqlalchemy
from skyband_jobs.formats import TableKeys
from skyband_specs.formats import FormatTrial


class DatabaseTrial(FormatTrial):
    """Its tables are read by plain SQL."""

    def keys(self, folder):
        return TableKeys(url=os.environ["TRIAL_URL"], table=f"board of {crc32(bytes(folder))}")

    def rows(self, format, keys):
        engine = sqlalchemy.create_engine(keys.url, poolclass=sqlalchemy.pool.NullPool)
        with engine.connect() as connection:
            rows = connection.execute(sqlalchemy.text(f'SELECT * FROM "{keys.table}"')).mappings()
            return [{**row, "at": row["at"] and row["at"].astimezone(UTC)} for row in rows]
