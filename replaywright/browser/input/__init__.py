"""Input as a person gives it: mouse, keyboard, text, files, sliders, scrolling."""
