-- ARGV[4..5]: version, status. Answers 1, or 0 if the version is not there.
local version, status = ARGV[4], ARGV[5]
if damaged or redis.call('HEXISTS', key, version .. ':json') == 0 then
  return 0
end

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
