-- KEYS: a trace. ARGV: id of the line, the line (a JSON object). Puts the server's time in front; a repeated line is not
-- added again. The trace lives for a while after its last line.
local KEEP_S = 90 * 24 * 3600
local key = KEYS[1]

local kind = redis.call('TYPE', key).ok
if kind ~= 'none' and kind ~= 'list' then
  return kind
end
for _, line in ipairs(redis.call('LRANGE', key, -8, -1)) do
  if string.find(line, ARGV[1], 1, true) then
    return kind
  end
end
local time = redis.call('TIME')
local at = string.format('%.6f', tonumber(time[1]) + tonumber(time[2]) / 1e6)
redis.call('RPUSH', key, '{"at":' .. at .. ',' .. string.sub(ARGV[2], 2))
redis.call('EXPIRE', key, KEEP_S)
return kind
