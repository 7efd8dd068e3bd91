-- ARGV: json, run, hold (1 or empty), signature. Adds a candidate, replacing a key of another type.
-- Returns the version. A repetition of the run's newest candidate is not added.
local json, run, hold, sig = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if damaged then
  redis.call('DEL', key)
end

for i = #versions, 1, -1 do
  local version = versions[i]
  if get(version, 'status') == 'candidate' and get(version, 'run') == run then
    if get(version, 'json') == json and get(version, 'hold') == hold then
      put(version, 'sig', sig)
      return version
    end
    break
  end
end

local new = next_version()
versions[#versions + 1] = new
redis.call('HSET', key, 'last', new, new .. ':json', json, new .. ':status', 'candidate', new .. ':run', run,
  new .. ':hold', hold, new .. ':sig', sig)
keep_versions(KEPT, FIELDS)
return new
