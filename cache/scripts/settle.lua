-- ARGV: epoch, state, who. Repeated, it is granted again.
local target, who = ARGV[2], ARGV[3]
local LEADS_TO = {
  RESOLVING = { COMMITTED = true, NOT_DONE = true, ESCALATED = true },
  ESCALATED = { COMMITTED = true, NOT_DONE = true, ABANDONED = true },
}

if epoch ~= mine then
  return answer('fenced')
end
if state == target then
  return answer('settled')
end
if not (LEADS_TO[state] and LEADS_TO[state][target]) then
  return answer('refused')
end
local change = { state = target, ['settled:' .. ARGV[1] .. ':' .. target] = who .. ' at ' .. seconds(now()) }
if target == 'COMMITTED' and record.late then
  change.outcome = record.late
end
-- A success reported after the fence is not covered by this verdict: it stays and forbids the next intent.
local overruled = target == 'NOT_DONE' and record.late and record.late_seen
if overruled then
  change.overruled = record.late
end
write(change)
if overruled then
  redis.call('HDEL', key, 'late', 'late_seen')
end
return answer('settled')
