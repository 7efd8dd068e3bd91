"""Recording a person: what they did in a browser becomes a task file.

`writing` turns acts into the steps of a task, on the draft that imported recordings use. `recorder` follows a
demonstration, reads what each act led to, and takes the person's commands. `comparing` joins
two demonstrations. It knows a browser by the port
`replaywright.ports.recording` only.
"""
