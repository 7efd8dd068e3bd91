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

local highest = math.max(tonumber(text('last')) or 0, tonumber(versions[#versions] or '0'))
local new = string.format('%d', highest + 1)
versions[#versions + 1] = new
redis.call('HSET', key, 'last', new, new .. ':json', json, new .. ':status', 'candidate', new .. ':run', run,
  new .. ':hold', hold, new .. ':sig', sig)

local oldest = 1
while #versions > KEPT and oldest < #versions do
  if get(versions[oldest], 'status') == 'active' then
    oldest = oldest + 1
  else
    local dropped = table.remove(versions, oldest)
    for _, name in ipairs(FIELDS) do
      redis.call('HDEL', key, dropped .. ':' .. name)
    end
  end
end
redis.call('HSET', key, 'versions', table.concat(versions, ' '))
return new
