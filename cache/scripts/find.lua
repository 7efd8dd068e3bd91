-- ARGV: what (use, current, all, own), run. Returns {kind of key, number of versions, row, ...} with
-- row = {version, status, json, run, hold, hits, misses, heals, success, recent, sig, seal}; recent is of all versions.
-- use: the active version, then the run's own newest candidate; current: the active version, else the newest;
-- own: all candidates of the run, the newest first.
local what, run = ARGV[1], ARGV[2]
if damaged then
  return { kind, 0 }
end

local found = { kind, #versions }
if what == 'all' then
  for _, version in ipairs(versions) do
    found[#found + 1] = row(version)
  end
  return found
end

if what == 'own' then
  for i = #versions, 1, -1 do
    if get(versions[i], 'status') == 'candidate' and get(versions[i], 'run') == run then
      found[#found + 1] = row(versions[i])
    end
  end
  return found
end

local active, own
for i = #versions, 1, -1 do
  local version = versions[i]
  local status = get(version, 'status')
  if status == 'active' then
    active = active or version
  elseif status == 'candidate' and run ~= '' and get(version, 'run') == run then
    own = own or version
  end
end
if what == 'current' then
  active = active or versions[#versions]
  own = nil
end
if active then
  found[#found + 1] = row(active)
end
if own then
  found[#found + 1] = row(own)
end
return found
