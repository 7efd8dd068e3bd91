"""Reading pages: snapshots, frames, values, pictures, storage, and the record of a failed step."""
