"""Support vector machines at a nu: one-class, classification, regression."""
