"""What several rooms share: data, tables, and peers in processes of their own."""
