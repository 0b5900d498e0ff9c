"""What can be dropped: balls that hold the optimum and the rules that decide item by item."""
