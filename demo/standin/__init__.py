"""A stand-in for a language model: it reads a page listing and names an element, over the OpenAI dialect of HTTP."""
