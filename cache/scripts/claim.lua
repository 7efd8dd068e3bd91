-- KEYS[1]: a claim. ARGV: run, milliseconds. Answers who has it: the run if it was free, or its own, which renews it.
local run = ARGV[1]
local held = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1])
if held and held ~= run then
  return held
end
redis.call('SET', KEYS[1], run, 'PX', ARGV[2])
return run
