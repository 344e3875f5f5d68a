"""The model as each peer's own documentation would have it served; each runs among its own."""
