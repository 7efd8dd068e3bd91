-- given: version, status. Returns 1, or 0 if the version is not there.
local version, status = given[1], given[2]
if damaged or redis.call('HEXISTS', key, version .. ':json') == 0 then
  return 0
end

keep_statuses()
local before = get(version, 'status')
if before ~= status then
  put(version, 'status', status)
  local words = { active = before == 'candidate' and 'activated' or 'restored', suspect = 'suspected',
    retired = 'invalidated', candidate = 'reset' }
  note(version, words[status], reason)
end
if status == 'active' then
  replace_with(version)
end
list()
return 1
