"""A real server of S3's protocol on the loopback, for tests of what reads from object stores."""

from collections.abc import Iterator
from contextlib import contextmanager

from moto.server import ThreadedMotoServer

SECRET = "nobody-may-read-this-key"


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """The environment in which every client of S3 finds it."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ALLOW_HTTP": "true",
        }
    finally:
        server.stop()


def make_bucket(environment: dict[str, str], name: str):
    """Arrow's file system, in which there is a new bucket."""
    from pyarrow.fs import S3FileSystem

    address = environment["AWS_ENDPOINT_URL"].removeprefix("http://")
    store = S3FileSystem(
        access_key=environment["AWS_ACCESS_KEY_ID"],
        secret_key=environment["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
        scheme="http",
        endpoint_override=address,
        allow_bucket_creation=True,
    )
    store.create_dir(name)
    return store
