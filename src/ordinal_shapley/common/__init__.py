"""What every layer uses, and what knows none of them."""
