"""Plans: loops written out, plans of models, and the limits of a model that has read a page. Above `skill`."""
