"""How label chains are learned: each solver gives bounds of the optimum from both sides."""
