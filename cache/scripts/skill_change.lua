-- Prepended, after skill.lua, to every script that changes a skill. KEYS[2..6]: its statistics, its history, the
-- tenant's index of skills, its stamps, and the key of the statuses. ARGV[1..3]: name of the skill, who changes it,
-- why. ARGV[4..8]: 1 if statuses are signed, the signed statuses in the skill's key and in their own, the same as
-- <version>=<status> ..., and the signed statuses after this change, empty without a change. The rest is `given`.
-- Returns {'damaged', key} without a change if index or stamps have another type; {'again'} if the signed statuses have
-- changed meanwhile.

local KEPT = 20
local HISTORY_KEPT = 200

local statistics, history, index, stamps, register = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local name, who, reason = ARGV[1], ARGV[2], ARGV[3]
local is_signed, before, after = ARGV[4] == '1', ARGV[7], ARGV[8]
local given = { unpack(ARGV, 9) }

local function is_of(where, wanted)
  local found = redis.call('TYPE', where).ok
  return found == 'none' or found == wanted
end

if not is_of(index, 'zset') then
  return { 'damaged', index }
end
if not is_of(stamps, 'hash') then
  return { 'damaged', stamps }
end
if is_signed then
  local own = damaged and '' or text('statuses')
  local beside = redis.call('TYPE', register).ok == 'string' and redis.call('GET', register) or ''
  if own ~= ARGV[5] or beside ~= ARGV[6] then
    return { 'again' }
  end
end
-- Keys of another type are useless.
if not is_of(statistics, 'hash') then
  redis.call('DEL', statistics)
end
if not is_of(history, 'list') then
  redis.call('DEL', history)
end

local time = redis.call('TIME')
local now = string.format('%s.%06d', time[1], time[2])

-- The signed statuses take precedence over the fields.
if is_signed and after ~= '' and not damaged then
  if ARGV[5] == '' or ARGV[5] ~= ARGV[6] then
    redis.call('HDEL', key, 'shown') -- whoever remembers it reads it anew
  end
  local signed = {}
  for version, status in string.gmatch(before, '(%d+)=(%a+)') do
    signed[version] = status
  end
  for _, version in ipairs(versions) do
    if signed[version] or get(version, 'sig') ~= '' then
      put(version, 'status', signed[version] or 'retired')
    end
  end
end

local function note(version, what, why)
  local line = { at = tonumber(now), version = tonumber(version), what = what, who = who, reason = why }
  redis.call('RPUSH', history, cjson.encode(line))
  redis.call('LTRIM', history, -HISTORY_KEPT, -1)
end

-- Retires what the version replaces.
local function replace_with(version)
  for _, other in ipairs(versions) do
    local status = get(other, 'status')
    local is_before = tonumber(other) < tonumber(version) and status ~= 'retired'
    if other ~= version and (is_before or status == 'active') then
      put(other, 'status', 'retired')
      note(other, 'retired', 'version ' .. version .. ' took its place')
    end
  end
end

local function site_of(member)
  return string.sub(member, 1, -(#name + 2))
end

-- Stores the signed statuses in both places.
local function keep_statuses()
  if after ~= '' then
    redis.call('HSET', key, 'statuses', after)
    redis.call('SET', register, after)
  end
end

-- Updates index and stamps to the version chosen now; an unchanged choice is not stamped.
local function list()
  local version = chosen()
  local listed = text('listed')
  local member = version and get(version, 'site') .. '\0' .. name or ''
  local shown = version and version .. ' ' .. get(version, 'status') .. ' ' .. get(version, 'id') or ''
  if listed == member and text('shown') == shown then
    return
  end
  local stamp = now .. '-' .. redis.call('HINCRBY', stamps, 'count', 1)
  redis.call('HSET', stamps, 'all', stamp)
  if listed ~= '' then
    redis.call('HSET', stamps, 'site/' .. site_of(listed), stamp)
    if listed ~= member then
      redis.call('ZREM', index, listed)
    end
  end
  if member == '' then
    redis.call('HDEL', stamps, 'skill/' .. name)
    redis.call('HDEL', key, 'listed', 'shown')
  else
    redis.call('ZADD', index, 0, member)
    redis.call('HSET', stamps, 'site/' .. site_of(member), stamp, 'skill/' .. name, stamp)
    redis.call('HSET', key, 'listed', member, 'shown', shown)
  end
end
