"""How a problem is solved: one file an algorithm, each stopping on the full duality gap."""
