-- ARGV: a version's number, or empty for the one that is chosen. Answers {kind of key, numbers of all versions, row ...}
-- with row = {version, status, json, run, at, id, sig, seal}, or without it.
if damaged then
  return { kind, '' }
end
local version = ARGV[1] ~= '' and ARGV[1] or chosen()
local found = { kind, table.concat(versions, ' ') }
if version and redis.call('HEXISTS', key, version .. ':json') == 1 then
  found[3] = { version, get(version, 'status'), get(version, 'json'), get(version, 'run'), get(version, 'at'),
    get(version, 'id'), get(version, 'sig'), get(version, 'seal') }
end
return found
