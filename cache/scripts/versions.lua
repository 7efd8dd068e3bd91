-- Prepended to every script on something that has versions. KEYS[1] is its hash:
--   versions        numbers of the versions kept, oldest first, separated by blanks
--   last            the highest number ever given
--   <n>:<field>     fields of a version

local key = KEYS[1]
local kind = redis.call('TYPE', key).ok
local damaged = kind ~= 'none' and kind ~= 'hash'

local function text(name)
  return redis.call('HGET', key, name) or ''
end

local function get(version, name)
  return text(version .. ':' .. name)
end

local function put(version, name, value)
  redis.call('HSET', key, version .. ':' .. name, value)
end

local versions = {}
if not damaged then
  for version in string.gmatch(text('versions'), '%d+') do
    versions[#versions + 1] = version
  end
end

local function next_version()
  local highest = math.max(tonumber(text('last')) or 0, tonumber(versions[#versions] or '0'))
  return string.format('%d', highest + 1)
end

-- Keeps the list of the versions, without the oldest that are not active beyond `most`; returns the dropped ones.
local function keep_versions(most, fields)
  local oldest, all_dropped = 1, {}
  while #versions > most and oldest < #versions do
    if get(versions[oldest], 'status') == 'active' then
      oldest = oldest + 1
    else
      local dropped = table.remove(versions, oldest)
      all_dropped[#all_dropped + 1] = dropped
      for _, field in ipairs(fields) do
        redis.call('HDEL', key, dropped .. ':' .. field)
      end
    end
  end
  redis.call('HSET', key, 'versions', table.concat(versions, ' '))
  return all_dropped
end

-- Remembers an id among the newest `most` in the field `seen` of a hash; returns whether it was there already.
local function is_counted(where, id, most)
  local seen = {}
  for earlier in string.gmatch(redis.call('HGET', where, 'seen') or '', '%S+') do
    if earlier == id then
      return true
    end
    seen[#seen + 1] = earlier
  end
  seen[#seen + 1] = id
  while #seen > most do
    table.remove(seen, 1)
  end
  redis.call('HSET', where, 'seen', table.concat(seen, ' '))
  return false
end
