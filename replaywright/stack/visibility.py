"""Which search attributes a namespace knows."""

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError

_NAMES = {
    IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD: "Keyword",
    IndexedValueType.INDEXED_VALUE_TYPE_INT: "Int",
}
"""Of those types that ours have."""


async def known_attributes(client: Client) -> dict[str, str] | None:
    """Types by name, "" for one that none of ours has; None where the server does not say, as hosted ones may not."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        answer = await client.operator_service.list_search_attributes(request)
    except RPCError:
        return None
    return {name: _NAMES.get(kind, "") for name, kind in answer.custom_attributes.items()}
