"""What is run: experiments as grids of cells, one runner, one store, one command line."""
