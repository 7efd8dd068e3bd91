"""Activities that learn the requests behind a task's steps, and replay them."""
