"""The activity feed: what happened that concerns one (the capability `activity`, extensions E-9, E-10)."""
