"""Running: plan cells, compute what is missing on any number of workers, store it, say how far it is."""
