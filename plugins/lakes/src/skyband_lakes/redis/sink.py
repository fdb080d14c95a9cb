"""Tables of the newest answers in Redis: for each group a hash of rows, and a sorted set of members by score."""

import json
from typing import TYPE_CHECKING

from attrs import define, field
from skyband.errors import ConfigError, EngineError, Problem
from skyband_jobs.formats import BatchSink, NetChanges

from skyband_lakes.redis.groups import entries_of
from skyband_lakes.redis.server import Server

if TYPE_CHECKING:
    import pyarrow as pa


NUMBERS, TABLES, GROUPS = "skyband_micro_batches", "skyband_tables", "skyband_groups:"
"""Hashes with the last micro-batch of each table and stream, and with each table's layout; and the prefix of the set of
a table's groups."""
ROWS = ":rows"
"""The suffix of the hash of a group's rows; the group's name alone is the sorted set."""

APPLY = f"""
local numbers, tables, groups = '{NUMBERS}', '{TABLES}', '{GROUPS}' .. ARGV[1]
local field, batch, least = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if batch then
  local stored = tonumber(redis.call('HGET', numbers, field) or '')
  if stored and stored >= batch then return {{'there'}} end
  if least and (not stored or stored < least) then return {{'lost'}} end
end
local like = redis.call('HGET', tables, ARGV[1])
if like and like ~= ARGV[5] then return {{'other', like}} end
local entries = {{}}
for place = 7, #ARGV do
  local entry = cjson.decode(ARGV[place])
  for name, kind in pairs({{[entry[1]] = 'zset', [entry[1] .. '{ROWS}'] = 'hash'}}) do
    local is = redis.call('TYPE', name)['ok']
    if is ~= 'none' and is ~= kind then return {{'kind', name, is}} end
  end
  entries[#entries + 1] = entry
end
if ARGV[6] == '1' then
  for _, name in ipairs(redis.call('SMEMBERS', groups)) do redis.call('DEL', name, name .. '{ROWS}') end
  redis.call('DEL', groups)
end
for _, entry in ipairs(entries) do
  local name, gone, rows, unscored, scores = unpack(entry)
  if #gone > 0 then redis.call('HDEL', name .. '{ROWS}', unpack(gone)) end
  if #unscored > 0 then redis.call('ZREM', name, unpack(unscored)) end
  if #rows > 0 then redis.call('HSET', name .. '{ROWS}', unpack(rows)) end
  if #scores > 0 then redis.call('ZADD', name, unpack(scores)) end
  local keep = redis.call('EXISTS', name .. '{ROWS}') == 1
  redis.call(keep and 'SADD' or 'SREM', groups, name)
end
redis.call('HSET', tables, ARGV[1], ARGV[5])
if batch then redis.call('HSET', numbers, field, ARGV[3]) end
return {{'done'}}
"""
"""ARGV: the table, the field of its stream, the micro-batch or '', the last one that this sink has written or '', the
table's layout, '1' to replace all; then groups in JSON: name, members to delete, members and rows, members without a
score, scores and members. Returns a problem, before anything is changed, or that the micro-batch is there or done.
"""


_RANK = "rank"


@define(eq=False)
class RedisSink(BatchSink):
    """Applies changes and records the micro-batch number on the server, atomically in one script.

    table: the prefix of its keys. key: the columns that identify a row; the last is the row's name in its group, the
    others name the group. score: the column that sorts the rows of a group; None: `rank`, if the answers have one.
    """

    server: Server
    table: str
    key: tuple[str, ...]
    score: str | None = None
    _numbers: dict[str, int] = field(factory=dict, init=False)
    """The last micro-batch of each stream that the server confirmed."""

    def latest(self, stream: str) -> int | None:
        number = self.server.once(lambda client: client.hget(NUMBERS, self._field(stream)))
        return None if number is None else int(number)

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:  # noqa: ARG002
        raise self._adds_none()

    def append(self, answers: "pa.Table", replace: bool = False) -> None:  # noqa: ARG002
        raise self._adds_none()

    def exists(self) -> bool:
        return bool(self.server.once(lambda client: client.hexists(TABLES, self.table)))

    def check(self, schema: "pa.Schema") -> None:
        like = self._like(schema)
        layout = self.server.once(lambda client: client.hget(TABLES, self.table))
        if layout is not None and layout != like:
            raise self._is_other(layout, like)

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:
        like = self._like(changes.rows.schema)
        stream, batch = ("", "") if number is None else number
        entries = entries_of(changes, self.table, json.loads(like)["score"])
        last = self._numbers.get(stream, "")
        arguments = [self.table, self._field(stream), batch, last, like, "1" if replace else "", *entries]
        outcome, *what = self.server.until_done(lambda client: client.register_script(APPLY)(args=arguments))
        if outcome == "lost":
            message = f"the server {self.server.name} had micro-batch {last} of this stream, and has lost it"
            remedy = (
                "turn on its append-only file (appendfsync always), and start over with another table and checkpoint"
            )
            raise EngineError(f"{message}: {remedy}")
        if outcome == "other":
            raise self._is_other(what[0], like)
        if outcome == "kind":
            message = f"{what[0]!r} is a {what[1]} of another program: choose another table"
            raise ConfigError(Problem("table", message))
        if number is not None:
            self._numbers[number[0]] = number[1]

    def _field(self, stream: str) -> str:
        return f"{self.table} {stream}"

    def _like(self, schema: "pa.Schema") -> str:
        """The table's layout as text: its columns, its key and the score. Raises ConfigError for a wrong score."""
        import pyarrow as pa

        score = self.score or (_RANK if _RANK in schema.names else None)
        if score is not None:
            if score not in schema.names:
                message = f"must be a column of the answers, {', '.join(schema.names)} (got {score!r})"
                raise ConfigError(Problem("options.score", message))
            kind = schema.field(score).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise ConfigError(Problem("options.score", f"must be a column of numbers ({score!r} is {kind})"))
        return json.dumps({"columns": schema.names, "key": self.key, "score": score})

    def _is_other(self, layout: str, like: str) -> ConfigError:
        pairs = (json.loads(text).items() for text in (layout, like))
        has, ours = (", ".join(f"{name} {value}" for name, value in items) for items in pairs)
        message = f"the table {self.table!r} has {has}, and the answers {ours}: choose another table"
        return ConfigError(Problem("table", message))

    def _adds_none(self) -> ConfigError:
        return ConfigError(Problem("answers", 'a table in Redis needs answers = "current", and `open_sink` a key'))
