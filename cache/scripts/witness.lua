-- KEYS: a trace. ARGV: a witness, or empty. Without one, returns the current witness: process, replication history, and
-- the trace's last line. With one, returns 1 if process, history and line are unchanged, which excludes a server that
-- was restarted, took over from another, was emptied or fell back. Returns nothing if the server hides its identity.
local key, given = KEYS[1], ARGV[1]

local function told(section, name)
  local info = redis.pcall('INFO', section)
  return type(info) == 'string' and string.match(info, name .. ':(%x+)') or ''
end

if redis.call('TYPE', key).ok ~= 'list' then
  return given == '' and '' or 0
end
local process, history = told('server', 'run_id'), told('replication', 'master_replid')
local role = string.match(redis.pcall('INFO', 'replication'), 'role:(%a+)')
if process == '' or history == '' or role ~= 'master' then
  return given == '' and '' or 0
end
local position = given == '' and redis.call('LLEN', key) - 1 or tonumber(string.match(given, '/(%d+)/')) or -1
local line = position >= 0 and redis.call('LINDEX', key, position) or ''
local hash = string.match(line, '^{"at":[%d.]+,"chain":{"digest":"%x+","hash":"(%x+)",') or ''
local now = process .. '.' .. history .. '/' .. position .. '/' .. hash
if given == '' then
  return hash == '' and '' or now
end
return (hash ~= '' and now == given) and 1 or 0
