"""Private keys of questions for codes, kept until the code is entered or the question ends.

The run's history has the sealed code and Redis its only key, so neither alone reveals the code; without the key nobody
can read it.
"""

from cache.connection import Client, translated
from cache.keys import answer_key_key
from replaywright.errors import CodeLost
from replaywright.sealing.envelope import NotSealed, new_key, opened, sealed


class RedisCodes:
    """`Codes` with expiring keys in Redis."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def offer(self, *, tenant: str, run_id: str, question: str, ttl_s: float) -> str:
        """Make a key pair for a question, keep the private key for `ttl_s`, return the public one.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        private, public = new_key()
        with translated(self._client, "write"):
            key, milliseconds = answer_key_key(tenant, run_id, question), max(1, int(1000 * ttl_s))
            await self._client.execute_command("SET", key, private, "PX", milliseconds)
        return public

    async def seal(self, *, tenant: str, run_id: str, question: str, code: str, ttl_s: float) -> str:
        """Seal a code that a machine has found.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        key = await self.offer(tenant=tenant, run_id=run_id, question=question, ttl_s=ttl_s)
        return sealed(code, key, f"{run_id}/{question}")

    async def read(self, *, tenant: str, run_id: str, question: str, sealed: str) -> str:
        """Decrypt the code.

        Raises:
            CodeLost: its key is gone, or it was not sealed for this question.
            StoreUnavailable: Redis does not answer.
        """
        with translated(self._client, "read"):
            private: bytes | None = await self._client.execute_command("GET", answer_key_key(tenant, run_id, question))
        if private is None:
            raise CodeLost(f"the key of question {question} is gone: Redis has lost it, or its time was over")
        try:
            return opened(sealed, private, f"{run_id}/{question}")
        except NotSealed as exc:
            raise CodeLost(f"the code for question {question} cannot be read: {exc}") from exc

    async def forget(self, *, tenant: str, run_id: str, question: str) -> None:
        """Delete the private key: the sealed code becomes unreadable.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        with translated(self._client, "write"):
            await self._client.execute_command("DEL", answer_key_key(tenant, run_id, question))
