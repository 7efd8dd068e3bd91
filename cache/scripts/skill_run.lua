-- given: run, version, succeeded (1 or empty), number of steps done, index of the step that failed or empty,
-- outside (1 or empty: the skill is not to blame). Counts a run once, and makes an active version suspect that failed.
-- Returns 1 if it was counted now. Statistics are a hash:
--   runs, step:<version>:<index>   successes, failures, and the newest of them as 1 and 0, separated by blanks
--   last_success, last_failure     times
--   seen                           digests of the last runs
local RECENT = 20
local SEEN = 200
local run, version, succeeded = given[1], given[2], given[3] == '1'
local done, failed, outside = tonumber(given[4]), given[5], given[6] == '1'
if damaged or #versions == 0 then
  return 0
end

if is_counted(statistics, redis.sha1hex(run), SEEN) then
  return 0
end

local function count(field, went_well)
  local good, bad, recent = string.match(redis.call('HGET', statistics, field) or '', '^(%d+) (%d+) ([01]*)$')
  good, bad, recent = tonumber(good or 0), tonumber(bad or 0), recent or ''
  if went_well then
    good = good + 1
  else
    bad = bad + 1
  end
  recent = string.sub(recent .. (went_well and '1' or '0'), -RECENT)
  redis.call('HSET', statistics, field, string.format('%d %d %s', good, bad, recent))
end

count('runs', succeeded)
redis.call('HSET', statistics, succeeded and 'last_success' or 'last_failure', now)

if redis.call('HEXISTS', key, version .. ':json') == 1 then
  for index_of_step = 0, done - 1 do
    count('step:' .. version .. ':' .. index_of_step, true)
  end
  if failed ~= '' and not outside then
    count('step:' .. version .. ':' .. failed, false)
  end
  if not succeeded and not outside and get(version, 'status') == 'active' then
    put(version, 'status', 'suspect')
    keep_statuses()
    note(version, 'suspected', reason)
    list()
  end
end
return 1
