"""Tables of answers as people have them, and what their columns and responses say."""
