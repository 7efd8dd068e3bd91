-- KEYS[2]: the last signed statuses. ARGV: a version's number, or empty for the chosen one. Returns
-- {kind of key, numbers of all versions, statuses of the skill's key, statuses of their own key, row ...} with
-- row = {version, status, json, run, at, id, sig}, or without it.
local register = redis.call('TYPE', KEYS[2]).ok == 'string' and redis.call('GET', KEYS[2]) or ''
if damaged then
  return { kind, '', '', register }
end
local version = ARGV[1] ~= '' and ARGV[1] or chosen()
local found = { kind, table.concat(versions, ' '), text('statuses'), register }
if version and redis.call('HEXISTS', key, version .. ':json') == 1 then
  found[5] = { version, get(version, 'status'), get(version, 'json'), get(version, 'run'), get(version, 'at'),
    get(version, 'id'), get(version, 'sig') }
end
return found
