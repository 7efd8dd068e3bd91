"""Planning in the workflow: runs that begin from a goal, revised plans, and the start page of a recalled skill."""
