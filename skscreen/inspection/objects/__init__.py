"""What stands for an object in a figure: its name or its picture."""
