"""Reading runs: trace, histories, audit, and the view that reports are written from. Above `recall`."""
