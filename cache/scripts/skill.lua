-- Prepended, after versions.lua, to every script on the knowledge base. KEYS[1] is one skill, whose `last` outlives it;
-- beside its versions:
--   listed, shown   its member in the index, and which version stands there with which status
--   <n>:json <n>:status <n>:run <n>:id <n>:site <n>:at <n>:sig
--   statuses        the last signed statuses of all versions; they outlive the skill and have a key of their own, too
-- The JSON never changes; the fields beside it take precedence. sig and statuses:
-- cache/signing/signed_skills.py.

local FIELDS = { 'json', 'status', 'run', 'id', 'site', 'at', 'sig' }

-- The newest active version, else the newest; nil if there is none.
local function chosen()
  for i = #versions, 1, -1 do
    if get(versions[i], 'status') == 'active' then
      return versions[i]
    end
  end
  return versions[#versions]
end
