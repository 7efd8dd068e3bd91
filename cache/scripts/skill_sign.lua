-- KEYS[2]: the last signed statuses. ARGV: version, json, signature, the signed statuses (in the skill's key, in their
-- own), the new signed statuses. Signs an unchanged version if the statuses have not changed. Returns 1 if it did, else
-- 0.
local version, now = ARGV[1], ARGV[6]
if damaged or get(version, 'json') ~= ARGV[2] then
  return 0
end
local own = text('statuses')
local beside = redis.call('TYPE', KEYS[2]).ok == 'string' and redis.call('GET', KEYS[2]) or ''
if (own ~= ARGV[4] or beside ~= ARGV[5]) and (own ~= now or beside ~= now) then
  return 0
end
redis.call('HSET', key, version .. ':sig', ARGV[3], 'statuses', now)
redis.call('SET', KEYS[2], now)
return 1
