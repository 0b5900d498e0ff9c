"""Support vector machines: fits, paths, searches, peers."""
