"""send mail through an SMTP server."""
