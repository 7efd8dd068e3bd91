-- Removes every version and keeps the signed statuses; a key of another type is deleted. Returns 1 if there was
-- anything, else 0.
if damaged then
  redis.call('DEL', key)
  keep_statuses()
  return 1
end
if #versions == 0 then
  return 0
end
note(versions[#versions], 'deleted', reason)
for _, version in ipairs(versions) do
  for _, field in ipairs(FIELDS) do
    redis.call('HDEL', key, version .. ':' .. field)
  end
end
versions = {}
keep_statuses()
redis.call('HDEL', key, 'versions')
redis.call('DEL', statistics)
list()
return 1
