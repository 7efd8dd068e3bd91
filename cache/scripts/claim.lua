-- KEYS[1]: a claim. ARGV: run, milliseconds. Returns the owner; a free claim goes to the run, its own is renewed.
local run = ARGV[1]
local held = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1])
if held and held ~= run then
  return held
end
redis.call('SET', KEYS[1], run, 'PX', ARGV[2])
return run
