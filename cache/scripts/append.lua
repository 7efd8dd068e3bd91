-- KEYS: a trace. ARGV: id of the line, the line (a JSON object), SHA-256 of its content, `prev` of the first line.
-- Prepends the server's time and the line's link in the chain (replaywright/domain/trace/trace.py); a repeated line is
-- not added again. Returns {type of the key}, and position and hash of an added line. The trace expires some time after
-- its last line.
local KEEP_S = 90 * 24 * 3600
local key = KEYS[1]

local kind = redis.call('TYPE', key).ok
if kind ~= 'none' and kind ~= 'list' then
  return { kind }
end
local last = redis.call('LRANGE', key, -8, -1)
for _, line in ipairs(last) do
  if string.find(line, ARGV[1], 1, true) then
    return { kind }
  end
end

local position = redis.call('LLEN', key)
local previous = ARGV[4]
if position > 0 then
  local head = '^{"at":[%d.]+,"chain":{"digest":"%x+","hash":"(%x+)",'
  previous = string.match(last[#last], head) or ''
end
local time = redis.call('TIME')
local at = string.gsub(string.gsub(string.format('%s.%06d', time[1], time[2]), '0+$', ''), '%.$', '')
local hash = sha256('["' .. previous .. '",' .. position .. ',' .. at .. ',"' .. ARGV[3] .. '"]')
redis.call('RPUSH', key, '{"at":' .. at .. ',"chain":{"digest":"' .. ARGV[3] .. '","hash":"' .. hash
  .. '","position":' .. position .. ',"prev":"' .. previous .. '"},' .. string.sub(ARGV[2], 2))
redis.call('EXPIRE', key, KEEP_S)
return { kind, position, hash }
