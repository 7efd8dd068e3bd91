"""Redis in the hands of somebody who can write there and has no key."""

from bench.doors.ground import Ground
from bench.doors.knocks import Knock
from cache.connection import open_redis
from cache.keys import skill_key


async def put_back(here: Ground, name: str) -> Knock:
    """Retire a skill that runs, put its older record back as it was, and run it by name."""
    first, ran = await here.command("skills", "run", name)
    redis = open_redis(here.running.redis_url)
    key = skill_key("default", name)
    record = await redis.dump(key)
    await here.command("skills", "invalidate", name, "--why", "withdrawn")
    refused, _ = await here.command("skills", "run", name)
    if record is not None:
        await redis.restore(key, 0, record, replace=True)
    await redis.aclose()
    again, output = await here.command("skills", "run", name)
    redis = open_redis(here.running.redis_url)
    await redis.execute_command("HSET", key, "1:status", "candidate")
    await redis.aclose()
    changed, _ = await here.command("skills", "run", name)
    how = f"is active again (first {first}, retired {refused}, put back {again}, status changed {changed})"
    is_through = 0 in (refused, again, changed) or first != 0
    return Knock("skills", "a writer in Redis", how, is_through, (ran if first else output)[-200:])
