"""People in the workflow: questions, approvals, steps they do, steering, and the browser lent to them."""
