"""MiniWoB++ as tasks of Replaywright: its pages, an oracle in the model's place, and what each task asks for."""
