"""write mails to files, for development."""
