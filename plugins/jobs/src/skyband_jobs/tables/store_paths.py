"""Paths in object stores and other remote file systems, such as s3://bucket/in, read by their clients.

Arrow's clients are built in; other schemes use those of fsspec, where it and the scheme's package are installed.
Their settings come from the environment, as for every client of a store, and are never part of a path.
"""

import io
import os
import re
import stat
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PosixPath
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from skyband.errors import ConfigError, Problem

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_S3, _GOOGLE, _AZURE, _HADOOP = ("s3", "s3a", "s3n"), ("gs", "gcs"), ("abfs", "abfss"), ("hdfs", "viewfs")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_PATIENCE = timedelta(seconds=5)
_REMEDIES = {
    **dict.fromkeys(_S3, "set AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, and "
                         "AWS_ENDPOINT_URL for a store other than Amazon's"),
    **dict.fromkeys(_GOOGLE, "set GOOGLE_APPLICATION_CREDENTIALS in the environment"),
    **dict.fromkeys(_AZURE, "log in with Azure's command line, or set AZURE_CLIENT_ID, AZURE_TENANT_ID and "
                            "AZURE_CLIENT_SECRET in the environment"),
    **dict.fromkeys(_HADOOP, "set HADOOP_HOME and CLASSPATH in the environment"),
}  # fmt: skip
"""What to set in the environment, by scheme."""


class StorePath(PosixPath):
    """A path such as s3://bucket/folder/file, with the part of Path's interface that readers and writers use."""

    _entry: Any = None
    """The file's entry in a listing."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)

    def __fspath__(self) -> str:
        return str(self)

    @property
    def scheme(self) -> str:
        """The scheme of the store, such as s3."""
        return self.parts[0].removesuffix(":")

    @property
    def key(self) -> str:
        """The path in its file system: bucket and name."""
        if self.scheme in _HADOOP:
            return "/" + "/".join(self.parts[2:])
        bucket, *names = self.parts[1:]
        return "/".join([bucket.partition("@")[0] if self.scheme in _AZURE else bucket, *names])

    @property
    def filesystem(self) -> Any:
        """Arrow's file system, one per store and process. Raises OSError where it cannot be created."""
        return _filesystem(self.scheme, self.parts[1] if len(self.parts) > 1 else "")

    def stat(self, *, follow_symlinks: bool = True) -> Any:  # noqa: ARG002 - Path's signature
        """Its size and modification time, named as in `os.stat`. Raises FileNotFoundError."""
        return _stat_of(self._entry or self.filesystem.get_file_info(self.key), self)

    def exists(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        """Whether it is a file, or there are files below it."""
        return self.is_file() or self.is_dir()

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        """Whether it is a file."""
        return bool(self.filesystem.get_file_info(self.key).is_file)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        """Whether there are files below it."""
        from pyarrow.fs import FileType

        return bool(self.filesystem.get_file_info(self.key).type == FileType.Directory)

    def open(self, *_: Any, **__: Any) -> Any:
        """Open the file for reading bytes."""
        return io.BufferedReader(self.filesystem.open_input_file(self.key))

    def read_bytes(self) -> bytes:
        """All bytes of the file."""
        with self.filesystem.open_input_file(self.key) as file:
            return bytes(file.read())

    def write_bytes(self, data: Any) -> int:
        """Write all of it; in an object store a reader sees the earlier file or this one."""
        with self.filesystem.open_output_stream(self.key) as file:
            return int(file.write(data))

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        if not missing_ok or self.is_file():
            self.filesystem.delete_file(self.key)

    def files_below(self) -> Iterator["StorePath"]:
        """All files in it and its folders, with cached sizes and modification times."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self.key, allow_not_found=True, recursive=True)
        depth = len(self.key.strip("/").split("/"))
        for info in self.filesystem.get_file_info(selector):
            if info.is_file:
                path = StorePath(self, *info.path.strip("/").split("/")[depth:])
                path._entry = info
                yield path


def store_path(path: str) -> StorePath | None:
    """A path in a store; None for a path on this machine, or of another kind."""
    match = _SCHEME.match(path)
    if match is None or match[1] == "file" or not path[match.end() :].startswith("//"):
        return None
    if not urlsplit(path).netloc:
        path = path.replace("://", "://default", 1)  # Hadoop's name for its configured file system
    return StorePath(path)


class OutOfReachError(ConfigError):
    """A path in a store that this process cannot read, although Spark's connectors may."""


def check_reach(path: StorePath) -> None:
    """Raise OutOfReachError where a path contains a password, or is unreachable, with what to install or to set."""
    user, at, _ = "/".join(path.parts[1:2]).partition("@")
    if at and ":" in user:
        raise OutOfReachError(Problem("path", "must not contain keys or passwords: set them in the environment"))
    missing = missing_of(path)
    if missing is not None:
        raise OutOfReachError(Problem("path", missing))
    try:
        first = [part for part in path.parts if not any(mark in part for mark in "*?[")]
        StorePath(*first).exists()
    except Exception as error:  # an fsspec client may raise anything
        remedy = _REMEDIES.get(path.scheme, "set what its client needs in the environment")
        message = f"{str(path)!r} cannot be reached ({' '.join(str(error).split())[:300]}): {remedy}"
        raise OutOfReachError(Problem("path", message)) from error


def missing_of(path: StorePath) -> str | None:
    """What to install to read a path; None where nothing is missing."""
    if path.scheme in _HADOOP and not os.environ.get("CLASSPATH"):  # without it, Java starts and complains
        return f"{path.scheme}:// cannot be read here: {_REMEDIES[path.scheme]}"
    if path.scheme in _REMEDIES:
        return None
    if find_spec("fsspec") is None:
        return f"{path.scheme}:// needs fsspec and the package for that scheme: pip install fsspec, and see its list"
    registry = import_module("fsspec.registry")
    try:
        registry.get_filesystem_class(path.scheme)
    except (ImportError, ValueError) as error:
        hint = registry.known_implementations.get(path.scheme, {}).get("err")
        return f"{path.scheme}:// cannot be read here: {hint or ' '.join(str(error).split())}"
    return None


def _stat_of(info: Any, path: Path) -> Any:
    if not info.is_file:
        raise FileNotFoundError(2, "No such file", str(path))
    return SimpleNamespace(st_size=info.size, st_mtime_ns=info.mtime_ns or 0, st_mode=stat.S_IFREG)


def _filesystem(scheme: str, authority: str) -> Any:
    if scheme not in _S3:
        return _by_scheme(scheme, authority)
    endpoint, region = (next((os.environ[name] for name in names if os.environ.get(name)), None)
                        for names in (_ENDPOINTS, _REGIONS))  # fmt: skip
    return _amazon(endpoint, region, authority if endpoint is None and region is None else "")


@cache
def _by_scheme(scheme: str, authority: str) -> Any:
    from pyarrow import fs

    if scheme in _GOOGLE:
        return fs.GcsFileSystem(retry_time_limit=_PATIENCE)  # the default is 15 minutes
    if scheme in _REMEDIES:
        return fs.FileSystem.from_uri(f"{scheme}://{authority}/")[0]
    return fs.PyFileSystem(fs.FSSpecHandler(import_module("fsspec").filesystem(scheme)))


@cache
def _amazon(endpoint: str | None, region: str | None, bucket: str) -> Any:
    """S3 or a compatible store. bucket: look up this bucket's region; "" to skip."""
    from pyarrow import fs

    if endpoint is None:
        return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket))
    address = urlsplit(endpoint)
    return fs.S3FileSystem(region=region, endpoint_override=address.netloc, scheme=address.scheme)
