-- ARGV: epoch, outcome. COMMITTED is final; a late success is kept beside it.
local outcome = ARGV[2]

local function late(verdict)
  if record.late ~= outcome then
    write({ late = outcome })
    redis.call('HDEL', key, 'late_seen')
  end
  return answer(verdict)
end

if state == 'COMMITTED' then
  if record.outcome == outcome then
    return answer('recorded')
  end
  if mine < epoch then
    return late('fenced')
  end
  if record.outcome then
    return late('recorded')
  end
  write({ outcome = outcome }) -- settled by a person, without an outcome
  return answer('recorded')
end

local owned = state == ''
  or (state == 'NOT_DONE' and mine > epoch) -- found done before anything was dispatched again
  or (state ~= 'NOT_DONE' and state ~= 'ABANDONED' and mine == epoch)
if not owned then
  return late('fenced')
end
write({ state = 'COMMITTED', epoch = ARGV[1], outcome = outcome })
return answer('recorded')
