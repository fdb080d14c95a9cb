"""A topic whose broker keeps the last message of each key: checks, creates and reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define
from skyband.errors import ConfigError, Problem

from skyband_lakes.kafka.topic import Topic
from skyband_lakes.libraries import KAFKA

_POLICY = "cleanup.policy"
_COMPACT = "compact"
_NEWEST = 20
"""Messages of each partition whose columns are checked."""
_AS_THE_BROKER_HAS_IT = -1


@define
class SinkTopic(Topic):
    """A topic to write to. Each call connects again, and raises EngineError if no broker answers."""

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
        topic = KAFKA.imported("admin").NewTopic(self.name, 1, _AS_THE_BROKER_HAS_IT, config={_POLICY: _COMPACT})
        with self._admin() as admin:
            admin.create_topics([topic], request_timeout=self.seconds)[self.name].result(self.seconds)

    def check_policy(self) -> None:
        """Raise ConfigError if the broker deletes rows by age. Some brokers do not tell everyone their policy."""
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
        if policy is not None and policy.value != _COMPACT:
            message = f"the topic {self.name!r} has {_POLICY} = {policy.value}, which deletes current rows"
            remedy = f"kafka-configs.sh --alter --topic {self.name} --add-config {_POLICY}={_COMPACT}"
            raise ConfigError(Problem("table", f"{message}: set it ({remedy}), or choose another topic"))

    def newest_values(self) -> Iterator[bytes]:
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
