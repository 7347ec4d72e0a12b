"""A result as one page that explains itself: see `ordinal_shapley.Valuation.to_html`."""
