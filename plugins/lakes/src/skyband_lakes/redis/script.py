"""What the server does with the changes of a micro-batch, all of it at once: it runs nothing else meanwhile."""

NUMBERS, TABLES, GROUPS = "skyband_micro_batches", "skyband_tables", "skyband_groups:"
"""Hashes with the last micro-batch of each table and stream, and with what each table is like; and, before the name of
a table, the set of its groups."""
ROWS = ":rows"
"""After a group's name, where the hash of its rows is; the name alone is the sorted set."""

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
"""ARGV: the table, the field of its stream, the micro-batch or '', the last one that this sink has written or '', what
the table is like, '1' where nothing stays; then groups in JSON: name, members that go, members and rows, members that
have no score, scores and members. Answers what was wrong, before anything was changed, or that it is there or done.
"""
