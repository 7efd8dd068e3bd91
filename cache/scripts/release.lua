-- KEYS[1]: a claim. ARGV: run. Ends the claim if it is the run's. Answers 1 if it was.
if redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
