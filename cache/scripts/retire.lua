-- ARGV: reason. Retires every version; a key of another type is deleted. Returns 1 if there was anything, else 0.
if damaged then
  redis.call('DEL', key)
  return 1
end
for _, version in ipairs(versions) do
  if get(version, 'status') ~= 'retired' then
    put(version, 'status', 'retired')
    put(version, 'reason', ARGV[1])
    redis.call('HDEL', key, version .. ':seal')
  end
end
return #versions > 0 and 1 or 0
