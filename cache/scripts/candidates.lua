-- ARGV: run, taker (empty: only look). Returns {kind of key, number of versions, row, ...} with the candidates of other
-- runs, the newest first, that are newer than the active version, wait for no person and that no attempt has taken.
-- With a taker all of them are its own from now on; it is given them again when it asks again.
local run, taker = ARGV[1], ARGV[2]
if damaged then
  return { kind, 0 }
end

local found = { kind, #versions }
for i = #versions, 1, -1 do
  local version = versions[i]
  local status, taken = get(version, 'status'), get(version, 'taken')
  if status == 'active' then
    break
  end
  local is_open = status == 'candidate' and get(version, 'run') ~= run and get(version, 'hold') ~= '1'
  if is_open and (taken == '' or taken == taker) then
    found[#found + 1] = row(version)
    if taker ~= '' then
      put(version, 'taken', taker)
    end
  end
end
return found
