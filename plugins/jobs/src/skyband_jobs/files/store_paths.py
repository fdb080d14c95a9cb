"""Paths in object stores and other file systems than this machine's, such as s3://bucket/in, read by their clients.

Those of Arrow are built in; of other schemes those of fsspec are taken, where it and the package of the scheme are
installed. Their settings come from the environment, where every client of a store looks for them: none is in a path.
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
    **dict.fromkeys(_S3, "say AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, and "
                         "AWS_ENDPOINT_URL of a store other than Amazon's"),
    **dict.fromkeys(_GOOGLE, "say GOOGLE_APPLICATION_CREDENTIALS in the environment"),
    **dict.fromkeys(_AZURE, "log in as Azure's command line does, or say AZURE_CLIENT_ID, AZURE_TENANT_ID and "
                            "AZURE_CLIENT_SECRET in the environment"),
    **dict.fromkeys(_HADOOP, "say HADOOP_HOME and CLASSPATH in the environment"),
}  # fmt: skip
"""What is to be set, by scheme."""


class StorePath(PosixPath):
    """A path such as s3://bucket/folder/file, with what readers of files use of a Path."""

    _entry: Any = None
    """What a listing said of the file."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)

    def __fspath__(self) -> str:
        return str(self)

    @property
    def scheme(self) -> str:
        """Of the store, such as s3."""
        return self.parts[0].removesuffix(":")

    @property
    def key(self) -> str:
        """As its file system calls it: bucket and name."""
        if self.scheme in _HADOOP:
            return "/" + "/".join(self.parts[2:])
        bucket, *names = self.parts[1:]
        return "/".join([bucket.partition("@")[0] if self.scheme in _AZURE else bucket, *names])

    @property
    def filesystem(self) -> Any:
        """Arrow's, one a process for each store. Raises OSError where it cannot be made."""
        return _filesystem(self.scheme, self.parts[1] if len(self.parts) > 1 else "")

    def stat(self, *, follow_symlinks: bool = True) -> Any:  # noqa: ARG002 - as of any path
        """Its size and time of change, as `os.stat` names them. Raises FileNotFoundError."""
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
        """Its bytes."""
        return io.BufferedReader(self.filesystem.open_input_file(self.key))

    def read_bytes(self) -> bytes:
        """All of it."""
        with self.filesystem.open_input_file(self.key) as file:
            return bytes(file.read())

    def files_below(self) -> Iterator["StorePath"]:
        """All files in it and its folders, each with its size and time of change, which are asked for no more."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self.key, allow_not_found=True, recursive=True)
        depth = len(self.key.strip("/").split("/"))
        for info in self.filesystem.get_file_info(selector):
            if info.is_file:
                path = StorePath(self, *info.path.strip("/").split("/")[depth:])
                path._entry = info
                yield path


def store_path(path: str) -> StorePath | None:
    """A path in a store; None of one on this machine, or of another kind."""
    match = _SCHEME.match(path)
    if match is None or match[1] == "file" or not path[match.end() :].startswith("//"):
        return None
    if not urlsplit(path).netloc:
        path = path.replace("://", "://default", 1)  # as Hadoop calls the file system of its configuration
    return StorePath(path)


class OutOfReachError(ConfigError):
    """A path in a store that this process cannot read, though Spark's connectors may."""


def check_reach(path: StorePath) -> None:
    """Raise OutOfReachError where a path holds a password, or cannot be asked for, with what to install or to set."""
    user, at, _ = "/".join(path.parts[1:2]).partition("@")
    if at and ":" in user:
        raise OutOfReachError(Problem("path", "must be without keys and passwords: say them in the environment"))
    missing = missing_of(path)
    if missing is not None:
        raise OutOfReachError(Problem("path", missing))
    try:
        first = [part for part in path.parts if not any(mark in part for mark in "*?[")]
        StorePath(*first).exists()
    except Exception as error:  # a client of fsspec's may raise anything
        remedy = _REMEDIES.get(path.scheme, "say what its client needs in the environment")
        message = f"{str(path)!r} cannot be reached ({' '.join(str(error).split())[:300]}): {remedy}"
        raise OutOfReachError(Problem("path", message)) from error


def missing_of(path: StorePath) -> str | None:
    """What is to be installed to read a path; None where nothing is missing."""
    if path.scheme in _HADOOP and not os.environ.get("CLASSPATH"):  # without it Java starts in here, and complains
        return f"{path.scheme}:// is not read here: {_REMEDIES[path.scheme]}"
    if path.scheme in _REMEDIES:
        return None
    if find_spec("fsspec") is None:
        return f"{path.scheme}:// needs fsspec and the package of that scheme: pip install fsspec, and read its list"
    registry = import_module("fsspec.registry")
    try:
        registry.get_filesystem_class(path.scheme)
    except (ImportError, ValueError) as error:
        hint = registry.known_implementations.get(path.scheme, {}).get("err")
        return f"{path.scheme}:// is not read here: {hint or ' '.join(str(error).split())}"
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
        return fs.GcsFileSystem(retry_time_limit=_PATIENCE)  # which is a quarter of an hour otherwise
    if scheme in _REMEDIES:
        return fs.FileSystem.from_uri(f"{scheme}://{authority}/")[0]
    return fs.PyFileSystem(fs.FSSpecHandler(import_module("fsspec").filesystem(scheme)))


@cache
def _amazon(endpoint: str | None, region: str | None, bucket: str) -> Any:
    """S3, or what speaks like it. bucket: whose region is to be asked for; "" where it is not."""
    from pyarrow import fs

    if endpoint is None:
        return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket))
    address = urlsplit(endpoint)
    return fs.S3FileSystem(region=region, endpoint_override=address.netloc, scheme=address.scheme)
