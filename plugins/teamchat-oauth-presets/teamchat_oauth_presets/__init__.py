"""sign in with Google, Microsoft, GitHub or GitLab."""
