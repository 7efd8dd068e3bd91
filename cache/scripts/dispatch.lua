-- ARGV: epoch, attempt. Repeated by the same attempt, it is granted again.
local attempt = ARGV[2]

if epoch == mine and record.attempt == attempt and state == 'DISPATCHED' then
  return answer('granted')
end
if epoch ~= mine or record.attempt ~= attempt or state ~= 'INTENT' then
  return answer('fenced')
end
if now() > (tonumber(record.dispatch_by) or 0) then
  return answer('too_late')
end
write({ state = 'DISPATCHED' })
return answer('granted')
