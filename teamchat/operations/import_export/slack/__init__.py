"""What Slack exports of a workspace, as a `Source`: `files` reads it, `rooms` decides who sees what."""
