-- Removes every version; a key of another type is deleted. Answers 1 if there was anything, else 0.
if damaged then
  redis.call('DEL', key)
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
redis.call('HDEL', key, 'versions')
redis.call('DEL', statistics)
list()
return 1
