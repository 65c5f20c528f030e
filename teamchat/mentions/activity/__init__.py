"""The activity feed: what happened that concerns a user (the capability `activity`, extensions E-9, E-10)."""
