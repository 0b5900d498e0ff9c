"""Speed of this version beside others of ours, by asv: see CONTRIBUTING."""
