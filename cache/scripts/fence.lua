-- ARGV: epoch. Returns the record as it was before, also when repeated by the same resolution. After a lost or
-- undecided resolution that is the record that the first one found: the attempt in doubt is still the same.
if state == 'COMMITTED' then
  return answer('done')
end
local HIGHER = { INTENT = true, DISPATCHED = true, ABANDONED = true }
if mine < epoch or (mine == epoch and HIGHER[state]) then
  return answer('fenced')
end
local change = { state = 'RESOLVING', epoch = ARGV[1] }
if record.late then
  change.late_seen = '1'
end
if state == 'RESOLVING' or state == 'ESCALATED' then
  write(change)
  state, record.epoch = record.before or '', record.before_epoch
else
  change.before, change.before_epoch = state, record.epoch or '0'
  write(change)
end
return answer('granted')
