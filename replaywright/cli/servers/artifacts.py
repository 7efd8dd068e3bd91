"""The artifact store as commands use it; apart from the servers, as a run is started without it."""

from replaywright.artifacts.store import ArtifactStore
from replaywright.settings import Settings
from replaywright.stack.keyring import artifact_keys_of


def artifact_store_of(settings: Settings) -> ArtifactStore:
    """Return the artifact store of the settings."""
    return ArtifactStore(settings.artifacts, artifact_keys_of(settings))
