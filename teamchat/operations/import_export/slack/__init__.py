"""What Slack exports of a workspace, as a `Source`: its files (`files`), who sees what (`rooms`), and all."""
