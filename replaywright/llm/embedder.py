"""Embeddings over HTTP, in OpenAI's dialect, which local servers speak as well."""

import os
import time
from collections.abc import Sequence
from typing import Any

import httpx

from replaywright.domain.runs import Usage
from replaywright.errors import ModelMisconfigured, ModelRateLimited, ModelRefused, ModelUnavailable
from replaywright.observing import observer

OPENAI = "https://api.openai.com/v1"
_KEY_VARIABLE = "OPENAI_API_KEY"
_AT_ONCE = 128
"""Texts of one request."""
_TEMPORARY = frozenset({408, 409, 425})


class HttpEmbedder:
    """An `Embedder`. Belongs to one event loop."""

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, timeout_s: float = 10.0
    ) -> None:
        """Ask `model`, as the server names it.

        Args:
            model: With or without `openai:` in front.
            base_url: Where `/embeddings` is; None for OpenAI.
            api_key: None takes `OPENAI_API_KEY`, or none at all.
            timeout_s: Of one request.
        """
        self._model = model.removeprefix("openai:")
        self._base_url = (base_url or OPENAI).rstrip("/")
        key = api_key or os.environ.get(_KEY_VARIABLE)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(timeout=timeout_s, headers=headers)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text; see `Embedder`."""
        found: list[list[float]] = []
        for begin in range(0, len(texts), _AT_ONCE):
            found += await self._measured(texts[begin : begin + _AT_ONCE])
        return found

    async def _measured(self, texts: Sequence[str]) -> list[list[float]]:
        began, ok = time.perf_counter(), False
        try:
            vectors = await self._some(texts)
            ok = True
        finally:
            observer().model_asked("embedder", self._model, Usage(calls=1), time.perf_counter() - began, ok=ok)
        return vectors

    async def _some(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            response = await self._client.post(
                f"{self._base_url}/embeddings", json={"model": self._model, "input": list(texts)}
            )
        except httpx.HTTPError as exc:
            raise ModelUnavailable(f"{self._model!r} does not answer at {self._base_url}: {exc!r}") from exc
        status = response.status_code
        where = f"{self._model!r} at {self._base_url} answered {status}"
        if status == httpx.codes.TOO_MANY_REQUESTS:
            raise ModelRateLimited(where, retry_after_s=_seconds(response.headers.get("retry-after", "")))
        if status >= httpx.codes.INTERNAL_SERVER_ERROR or status in _TEMPORARY:
            raise ModelUnavailable(where)
        if status != httpx.codes.OK:
            raise ModelMisconfigured(f"{where}: check REPLAYWRIGHT_EMBEDDING_MODEL, its _BASE_URL and {_KEY_VARIABLE}")
        return _vectors(response, len(texts), where)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _vectors(response: httpx.Response, count: int, where: str) -> list[list[float]]:
    try:
        data: list[dict[str, Any]] = sorted(response.json()["data"], key=lambda one: int(one["index"]))
        vectors = [[float(number) for number in one["embedding"]] for one in data]
    except (ValueError, KeyError, TypeError) as exc:
        raise ModelRefused(f"{where} with no embeddings") from exc
    if len(vectors) != count or len({len(vector) for vector in vectors}) > 1:
        raise ModelRefused(f"{where} with {len(vectors)} embeddings for {count} texts, or of different lengths")
    return vectors


def _seconds(text: str) -> float | None:
    try:
        wait = float(text)
    except ValueError:
        return None
    return wait if 0 <= wait < float("inf") else None
