"""The one place that imports the model library."""
