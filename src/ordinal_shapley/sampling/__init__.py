"""Monte Carlo estimates: samplers, truncation rules, designs, stopping rules and the run."""
