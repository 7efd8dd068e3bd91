-- ARGV: version, json, signature, seal. Signs an unchanged version. Returns 1, or 0 if it has changed.
local version = ARGV[1]
if damaged or get(version, 'json') ~= ARGV[2] then
  return 0
end
put(version, 'sig', ARGV[3])
put(version, 'seal', ARGV[4])
return 1
