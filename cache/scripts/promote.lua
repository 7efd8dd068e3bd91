-- ARGV: run, version (empty: its newest candidate), seal. That candidate of the run becomes active, the former
-- one retired. Returns {promoted, held}, each 0 or 1, and the same when repeated.
local run, wanted, seal = ARGV[1], ARGV[2], ARGV[3]
local chosen, active
local held = 0

for i = #versions, 1, -1 do
  local version = versions[i]
  local status = get(version, 'status')
  if status == 'active' then
    active = active or version
  elseif status == 'candidate' and get(version, 'run') == run then
    if get(version, 'hold') == '1' then
      held = 1
    elseif not chosen and wanted ~= '' and wanted ~= version then
      -- refused: its signature did not match
    elseif chosen then
      put(version, 'status', 'retired')
      put(version, 'reason', 'superseded by version ' .. chosen)
    else
      chosen = version
    end
  end
end

if chosen then
  if active then
    put(active, 'status', 'retired')
    put(active, 'reason', 'superseded by version ' .. chosen)
    redis.call('HDEL', key, active .. ':seal')
  end
  put(chosen, 'status', 'active')
  put(chosen, 'seal', seal)
  return { 1, held }
end
return { active and get(active, 'run') == run and 1 or 0, held }
