"""Large values by address: snapshots, screenshots, storage states."""
