"""What is done with answers and a map: dimension, regions, placing, queries."""
