"""The multi-class hinge of Crammer and Singer: one problem for all classes."""
