-- ARGV: id of this count, version, which (hits, misses, heals, or empty), succeeded (1 or empty), performance.
-- A performance is a step in a run: whatever the number of tries, its final result is one bit of the entry's window.
local id, version, which, succeeded, performance = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if damaged or redis.call('HEXISTS', key, version .. ':json') == 0 then
  return 0
end

if is_counted(key, id, 16) then
  return 0
end

local recent = text('recent')
if text('recent_of') == performance then
  recent = string.sub(recent, 1, -2)
end
recent = string.sub(recent .. (succeeded == '1' and '1' or '0'), -20)
redis.call('HSET', key, 'recent', recent, 'recent_of', performance)

if which == '' then -- done in another way: that says nothing of the version
  return 1
end
put(version, which, string.format('%d', (tonumber(get(version, which)) or 0) + 1))
if succeeded == '1' then
  local time = redis.call('TIME')
  put(version, 'success', string.format('%.3f', tonumber(time[1]) + tonumber(time[2]) / 1e6))
end
return 1
