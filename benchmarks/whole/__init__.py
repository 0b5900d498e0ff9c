"""The package as a whole: latency, growth, Dask, an hour of random work."""
