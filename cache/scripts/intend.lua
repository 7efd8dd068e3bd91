-- ARGV: epoch, attempt, seconds within which it must be dispatched, which expectations held before it. With KEYS[2],
-- the acts of the lineage, three more: act, own fingerprint, the fingerprint that it may be taken over from. Repeated
-- by the same attempt, it is granted again.
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
if KEYS[2] then
  local acts, act, own, over = KEYS[2], ARGV[#ARGV - 2], ARGV[#ARGV - 1], ARGV[#ARGV]
  local acts_kind = redis.call('TYPE', acts).ok
  if acts_kind ~= 'none' and acts_kind ~= 'hash' then
    return { 'damaged', '', '0', '', '', '' }
  end
  local owner = redis.call('HGET', acts, act)
  if owner and owner ~= own and owner ~= over then
    return { 'elsewhere', owner, '0', '', '' }
  end
  redis.call('HSET', acts, act, own)
  redis.call('EXPIRE', acts, 2 * KEEP_S)
end
write({
  state = 'INTENT',
  epoch = ARGV[1],
  attempt = attempt,
  dispatch_by = seconds(now() + tonumber(ARGV[3])),
  held = ARGV[4],
})
return answer('granted')
