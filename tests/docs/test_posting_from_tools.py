"""The page on tools that post as they post to Slack: its command, and its configuration of Alertmanager."""

from __future__ import annotations

import yaml

from tests.docs.machine import Machine
from tests.docs.pages import blocks

PAGE = "how-to/post-from-tools.md"
[CURL] = blocks(PAGE, "sh")
[ALERTMANAGER] = map(yaml.safe_load, blocks(PAGE, "yaml"))


def test_the_command_posts(machine: Machine) -> None:
    with machine.serves("teamchat serve") as server, server.sign_in() as client:
        [channel] = client.get("/channels").json()["channels"]
        made = client.post("/webhooks", json={"name": "Backup", "channelId": channel["id"]})
        hook = made.json()["webhook"]
        command = CURL.replace("https://chat.example.org", server.base)
        assert (
            machine.types(
                f'curl() {{ command curl -sS "$@"; }}\n{command}', ID=hook["id"], TOKEN=hook["token"]
            )
            == "ok"
        )
        [said] = client.get(f"/channels/{channel['id']}/messages").json()["messages"]
        assert said["content"] == "Backup done: **12 GB** in [4 minutes](https://backup.example.org/7)"


def test_the_receiver_is_one_of_alertmanagers() -> None:
    [receiver] = ALERTMANAGER["receivers"]
    [slack] = receiver["slack_configs"]
    # What prometheus/alertmanager knows there: config/notifiers.go, `SlackConfig` and `NotifierConfig`.
    assert slack.keys() <= {"api_url_file", "channel", "send_resolved", "title", "text"}
    assert slack["text"].endswith("\n{{ end }}")
