-- Prepended, after versions.lua, to every script on the action cache. KEYS[1] is one entry; beside its versions:
--   recent          of the last 20 performances of the step, oldest first, 1 for done and 0 for not; all versions'
--   recent_of       which performance its last bit is of
--   seen            ids of the last counts, so that a repeated one is not counted twice
--   <n>:json <n>:status <n>:run <n>:hold <n>:hits <n>:misses <n>:heals <n>:success <n>:reason <n>:taken <n>:sig <n>:seal
-- Statistics and status stand beside the JSON, which never changes once it is written. sig is of JSON, run and hold; seal
-- is what allows the version to be active (cache/signing/signed_entries.py). taken is the attempt of another run to which a
-- candidate was given.

local KEPT = 10
local FIELDS = { 'json', 'status', 'run', 'hold', 'hits', 'misses', 'heals', 'success', 'reason', 'taken', 'sig', 'seal' }

local function row(version)
  local found = { version }
  for _, name in ipairs({ 'status', 'json', 'run', 'hold', 'hits', 'misses', 'heals', 'success' }) do
    found[#found + 1] = get(version, name)
  end
  found[#found + 1] = text('recent')
  found[#found + 1] = get(version, 'sig')
  found[#found + 1] = get(version, 'seal')
  return found
end
