-- ARGV: id of this count, version, which (hits, misses, heals), succeeded (1 or empty).
local id, version, which, succeeded = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if damaged or redis.call('HEXISTS', key, version .. ':json') == 0 then
  return 0
end

local seen = {}
for earlier in string.gmatch(text('seen'), '%S+') do
  if earlier == id then
    return 0
  end
  seen[#seen + 1] = earlier
end
seen[#seen + 1] = id
while #seen > 16 do
  table.remove(seen, 1)
end
redis.call('HSET', key, 'seen', table.concat(seen, ' '))

put(version, which, string.format('%d', (tonumber(get(version, which)) or 0) + 1))
if succeeded == '1' then
  local time = redis.call('TIME')
  put(version, 'success', string.format('%.3f', tonumber(time[1]) + tonumber(time[2]) / 1e6))
end
return 1
