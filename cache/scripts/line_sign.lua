-- KEYS: a trace. ARGV: position, the line as it is stored, the line with its signature. Returns 1, or 0 if the line has
-- changed.
local key = KEYS[1]
if redis.call('TYPE', key).ok ~= 'list' or redis.call('LINDEX', key, ARGV[1]) ~= ARGV[2] then
  return 0
end
redis.call('LSET', key, ARGV[1], ARGV[3])
return 1
