"""Plans: expanded loops, plans of models, and limits of a model that has read a page. Above `skill`."""
