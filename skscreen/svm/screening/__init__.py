"""What can be dropped: balls that hold the optimum and rules that decide samples."""
