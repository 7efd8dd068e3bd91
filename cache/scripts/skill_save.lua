-- given: id of this version, json, status, run, site, names of the change (for a first version, for a later one),
-- number in the signature, signature. Adds a version; a key of another type is replaced. Returns {version, status,
-- time}, or {'', version} if it would get another number; a known id is not added again.
local id, json, status, run, site = unpack(given, 1, 5)
if damaged then
  redis.call('DEL', key)
end

for _, version in ipairs(versions) do
  if get(version, 'id') == id then
    return { version, get(version, 'status'), get(version, 'at') }
  end
end

local new = next_version()
if new ~= given[8] then
  return { '', new }
end
note(new, #versions == 0 and given[6] or given[7], reason)
versions[#versions + 1] = new
redis.call('HSET', key, 'last', new, new .. ':json', json, new .. ':status', status, new .. ':run', run,
  new .. ':id', id, new .. ':site', site, new .. ':at', now,
  new .. ':sig', given[9])
keep_statuses()
if status == 'active' then
  note(new, 'activated', reason)
  replace_with(new)
end

for _, dropped in ipairs(keep_versions(KEPT, FIELDS)) do
  for _, field in ipairs(redis.call('HKEYS', statistics)) do
    if string.find(field, 'step:' .. dropped .. ':', 1, true) == 1 then
      redis.call('HDEL', statistics, field)
    end
  end
end
list()
return { new, status, now }
