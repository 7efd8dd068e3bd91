-- KEYS[1]: a claim. ARGV: run. Ends the run's own claim. Returns 1 if it was its own.
if redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
