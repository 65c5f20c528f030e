"""How a server is doing, for its operator: log lines and metrics."""
