-- Prepended to every ledger script. KEYS[1] is one step's record, a hash:
--   v               version of this layout
--   state, epoch    of the state machine; the epoch never falls
--   attempt         who holds INTENT or DISPATCHED
--   dispatch_by     after this instant an intent may no longer be dispatched
--   held            JSON; which of the step's expectations held before its input; empty where that is not known
--   outcome         JSON; with COMMITTED
--   late            JSON: success reported by an attempt that does not own the step (any more)
--   late_seen       set once a resolver was told of `late`
--   overruled       a `late` that a resolver knew of when it found NOT_DONE
--   before, before_epoch      what the fence found; kept by the fences that follow until the doubt is over
--   settled:<epoch>:<state>   who decided it, and when
--   at              time of the last change
-- All times are the server's, in seconds. Every script returns {verdict, state, epoch, outcome, late, held}.

local VERSION = '1'
local KEEP_S = 90 * 24 * 3600
local TERMINAL = { COMMITTED = true, ABANDONED = true }
local STATES = {
  INTENT = true, DISPATCHED = true, COMMITTED = true, RESOLVING = true,
  NOT_DONE = true, ESCALATED = true, ABANDONED = true,
}

local key = KEYS[1]
local mine = tonumber(ARGV[1])

local kind = redis.call('TYPE', key).ok
local record = {}
if kind == 'hash' then
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
end

local damaged = kind ~= 'none'
  and not (kind == 'hash' and record.v == VERSION and STATES[record.state] and string.match(record.epoch or '', '^%d+$'))
local state = record.state or ''
local epoch = damaged and 0 or tonumber(record.epoch or '0')

local function now()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end

local function seconds(instant)
  return string.format('%.6f', instant)
end

-- Finished records live for a while after their last change, open ones for ever.
local function write(fields)
  local flat = { 'v', VERSION, 'at', seconds(now()) }
  for name, value in pairs(fields) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  redis.call('HSET', key, unpack(flat))
  if TERMINAL[fields.state or state] then
    redis.call('EXPIRE', key, KEEP_S)
  else
    redis.call('PERSIST', key)
  end
end

local function answer(verdict)
  return { verdict, state, record.epoch or '0', record.outcome or '', record.late or '', record.held or '' }
end

if damaged then
  return { 'damaged', '', '0', '', '', '' }
end
