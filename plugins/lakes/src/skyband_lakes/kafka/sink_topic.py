"""A topic that answers are written to: checks, creates and reads it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define
from skyband.errors import ConfigError, Problem

from skyband_lakes.kafka.topic import Topic
from skyband_lakes.libraries import KAFKA

if TYPE_CHECKING:
    import pyarrow as pa

_POLICY = "cleanup.policy"
COMPACT, DELETE = "compact", "delete"
_LOSS = {COMPACT: "deletes current rows", DELETE: "keeps only the last answer of each group"}
"""By the policy that a topic must have, what another one does to it."""
ISOLATION = "isolation.level"
_NEWEST = 20
"""Messages of each partition whose columns are checked."""
_AS_THE_BROKER_HAS_IT = -1


@define
class SinkTopic(Topic):
    """A topic to write to. Each call connects again, and raises EngineError if no broker answers.

    policy: which messages its broker deletes: "compact", those that a later one with the same key replaces; "delete",
    those that are old.
    """

    policy: str = COMPACT

    def consumer(self, **options: str) -> Any:
        """A consumer that does not wait for transactions to end: that of a process that was killed is open at first."""
        return super().consumer(**{ISOLATION: "read_uncommitted", **options})

    def exists(self) -> bool:
        """Whether the broker has it."""
        with self._consumer() as consumer:
            return self._partition_numbers(consumer) is not None

    def is_empty(self) -> bool:
        """Whether no message was ever sent to it."""
        with self._consumer() as consumer:
            return all(begin == end for begin, end in self._ranges(consumer).values())

    def make(self) -> None:
        """Create it with one partition, so that its messages are ordered."""
        topic = KAFKA.imported("admin").NewTopic(self.name, 1, _AS_THE_BROKER_HAS_IT, config={_POLICY: self.policy})
        with self._admin() as admin:
            admin.create_topics([topic], request_timeout=self.seconds)[self.name].result(self.seconds)

    def check(self, schema: "pa.Schema") -> None:
        """Raise ConfigError if rows with these columns must not be added to it."""
        self._check_policy()
        self._check_columns(schema)

    def _check_policy(self) -> None:
        """Raise ConfigError if the broker deletes rows that are needed. Some brokers do not tell everyone."""
        library, codes = KAFKA.imported("admin"), KAFKA.imported().KafkaError
        resource = library.ConfigResource(library.ConfigResource.Type.TOPIC, self.name)
        with self._admin() as admin:
            (answer,) = admin.describe_configs([resource], request_timeout=self.seconds).values()
            try:
                policy = answer.result(self.seconds).get(_POLICY)
            except KAFKA.imported().KafkaException as error:
                if error.args[0].code() not in (codes.TOPIC_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED):
                    raise
                return
        if policy is not None and policy.value != self.policy:
            message = f"the topic {self.name!r} has {_POLICY} = {policy.value}, which {_LOSS[self.policy]}"
            remedy = f"kafka-configs.sh --alter --topic {self.name} --add-config {_POLICY}={self.policy}"
            raise ConfigError(Problem("table", f"{message}: set it ({remedy}), or choose another topic"))

    def _check_columns(self, schema: "pa.Schema") -> None:
        """Raise ConfigError if the newest messages are not rows with these columns."""
        for value in self._newest_values():
            columns = _columns(value)
            if columns is None or {*columns} != {*schema.names}:
                has = "other values than rows" if columns is None else f"rows of {', '.join(columns)}"
                message = f"the topic {self.name!r} has {has}, and the answers {', '.join(schema.names)}"
                raise ConfigError(Problem("table", f"{message}: choose another topic"))

    def _newest_values(self) -> Iterator[bytes]:
        """The values of the last messages of each partition, except missing ones."""
        for turn in self.turns(newest=_NEWEST):
            yield from (message.value() for message in turn if message.value() is not None)

    def keys(self) -> set[str | bytes]:
        """The keys whose last message has a value."""
        stand: dict[bytes, bool] = {}
        for turn in self.turns():
            stand |= {message.key(): message.value() is not None for message in turn if message.key() is not None}
        return {key for key, has_value in stand.items() if has_value}

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        try:
            yield KAFKA.imported("admin").AdminClient({**self.options, "logger": self._log.logger()})
        except KAFKA.imported().KafkaException as error:
            raise self._failed(error.args[0].str()) from error


def _columns(value: bytes) -> list[str] | None:
    try:
        row: Any = json.loads(value)
    except ValueError:
        return None
    return list(row) if isinstance(row, dict) else None
