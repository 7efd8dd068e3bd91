-- ARGV: version, json, signature, seal. Signs a version that is there and still says this. Answers 1 if it does, else 0.
local version = ARGV[1]
if damaged or get(version, 'json') ~= ARGV[2] then
  return 0
end
redis.call('HSET', key, version .. ':sig', ARGV[3], version .. ':seal', ARGV[4])
return 1
