-- ARGV: run. Its newest candidate becomes active, the one before is kept as retired. Answers {promoted, held}, each 0 or
-- 1, and the same when repeated.
local run = ARGV[1]
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
  end
  put(chosen, 'status', 'active')
  return { 1, held }
end
return { active and get(active, 'run') == run and 1 or 0, held }
