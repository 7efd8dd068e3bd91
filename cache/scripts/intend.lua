-- ARGV: epoch, attempt, seconds within which it must be dispatched. Repeated by the same attempt, it is granted again.
local attempt = ARGV[2]

if state == 'COMMITTED' then
  return answer('done')
end
if state == 'INTENT' and epoch == mine and record.attempt == attempt then
  return answer('granted')
end
if state == 'INTENT' or state == 'DISPATCHED' then
  return answer('open')
end
if state == 'RESOLVING' or state == 'ESCALATED' then
  return answer('resolving')
end
if state == 'ABANDONED' then
  return answer('abandoned')
end
if mine <= epoch then
  return answer('fenced')
end
if record.late then
  return answer('late')
end
write({
  state = 'INTENT',
  epoch = ARGV[1],
  attempt = attempt,
  dispatch_by = seconds(now() + tonumber(ARGV[3])),
})
return answer('granted')
