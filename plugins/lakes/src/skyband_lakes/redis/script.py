"""The server-side script that applies the changes of a micro-batch atomically."""

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
