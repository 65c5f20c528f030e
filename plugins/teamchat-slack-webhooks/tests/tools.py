"""What six tools send to an incoming webhook of Slack's, and what is to be read of it here.

Each is written after the code that makes it, which is named; names, numbers and addresses are made up.
"""

from __future__ import annotations

from typing import Any

# Grafana: receivers/slack/slack.go of grafana/alerting (`createSlackMessage`), with the texts of its default
# templates (templates/default_template.go of the same project).
GRAFANA: dict[str, Any] = {
    "channel": "#ops",
    "username": "Grafana",
    "attachments": [
        {
            "title": "[FIRING:1] DiskFull Storage (db-1)",
            "title_link": "https://grafana.example.org/alerting/grafana/abc123/view?orgId=1",
            "text": "**Firing**\n\nValue: A=93.4, C=1\nLabels:\n - alertname = DiskFull\n - host = db-1\n"
            "Annotations:\n - summary = 93 % &amp; rising\nSource: https://grafana.example.org/alerting/"
            "grafana/abc123/view?orgId=1\nSilence: https://grafana.example.org/alerting/silence/new"
            "?matcher=alertname%3DDiskFull\n",
            "fallback": "[FIRING:1] DiskFull Storage (db-1)",
            "footer": "Grafana v11.2.0",
            "footer_icon": "https://grafana.com/static/assets/img/fav32.png",
            "color": "#D63232",
            "ts": 1785000000,
            "pretext": "<!channel|channel> <@U024BE7LH>",
            "mrkdwn_in": ["pretext"],
        }
    ],
}
GRAFANA_TEXT = """\
@channel @U024BE7LH
**[[FIRING:1] DiskFull Storage (db-1)](https://grafana.example.org/alerting/grafana/abc123/view?orgId=1)**
**Firing**

Value: A=93.4, C=1
Labels:
 - alertname = DiskFull
 - host = db-1
Annotations:
 - summary = 93 % & rising
Source: https://grafana.example.org/alerting/grafana/abc123/view?orgId=1
Silence: https://grafana.example.org/alerting/silence/new?matcher=alertname%3DDiskFull
Grafana v11.2.0 · 2026-07-25 17:20 UTC"""

# Alertmanager: notify/slack/slack.go of prometheus/alertmanager (`request`, `attachment`), with the defaults
# of config/notifiers.go, and fields and actions as its documentation shows them.
ALERTMANAGER: dict[str, Any] = {
    "channel": "#alerts",
    "username": "Alertmanager",
    "attachments": [
        {
            "title": "[FIRING:2] HighLatency (api prod)",
            "title_link": "https://alertmanager.example.org/#/alerts?receiver=chat",
            "pretext": "",
            "text": "p99 &gt; 2s for *10 minutes*",
            "fallback": "[FIRING:2] HighLatency (api prod) | https://alertmanager.example.org/#/alerts",
            "callback_id": "",
            "fields": [
                {"title": "Severity", "value": "page", "short": True},
                {
                    "title": "Runbook",
                    "value": "<https://wiki.example.org/p99|High latency>",
                    "short": True,
                },
            ],
            "actions": [
                {
                    "type": "button",
                    "text": "Silence :no_entry_sign:",
                    "url": 'https://alertmanager.example.org/#/silences/new?filter={alertname="HighLatency"}',
                }
            ],
            "footer": "",
            "color": "danger",
            "mrkdwn_in": ["fallback", "pretext", "text"],
        }
    ],
}
ALERTMANAGER_TEXT = """\
**[[FIRING:2] HighLatency (api prod)](https://alertmanager.example.org/#/alerts?receiver=chat)**
p99 > 2s for **10 minutes**
**Severity:** page
**Runbook:** [High latency](https://wiki.example.org/p99)
[Silence 🚫](https://alertmanager.example.org/#/silences/new?filter={alertname="HighLatency"})"""

# GitLab: app/models/integrations/chat_message/pipeline_message.rb and push_message.rb of gitlabhq/gitlabhq,
# sent as a form by the gem slack-messenger (app/models/concerns/integrations/slack_mattermost_notifier.rb).
GITLAB_PIPELINE: dict[str, Any] = {
    "channel": "#builds",
    "username": "GitLab",
    "fallback": "",
    "attachments": [
        {
            "fallback": "<https://git.example.org/acme/shop|shop>: Pipeline <https://git.example.org/acme/shop"
            "/-/pipelines/42|#42> of branch <https://git.example.org/acme/shop/-/commits/main|main> by Ada "
            "(ada) has failed in 03:21",
            "color": "danger",
            "author_name": "Ada (ada)",
            "author_icon": "https://git.example.org/uploads/ada.png",
            "author_link": "https://git.example.org/ada",
            "title": "Pipeline #42 has failed in 03:21",
            "title_link": "https://git.example.org/acme/shop/-/pipelines/42/failures",
            "fields": [
                {
                    "title": "Branch",
                    "value": "<https://git.example.org/acme/shop/-/commits/main|main>",
                    "short": True,
                },
                {
                    "title": "Commit",
                    "value": "<https://git.example.org/acme/shop/-/commit/9f8e|Round prices &amp; taxes>",
                    "short": True,
                },
                {
                    "title": "Failed job",
                    "value": "<https://git.example.org/acme/shop/-/jobs/7|test:unit>",
                    "short": True,
                },
            ],
            "footer": "shop",
            "footer_icon": None,
            "ts": 1785000000,
        }
    ],
}
GITLAB_PIPELINE_TEXT = """\
[Ada (ada)](https://git.example.org/ada)
**[Pipeline #42 has failed in 03:21](https://git.example.org/acme/shop/-/pipelines/42/failures)**
**Branch:** [main](https://git.example.org/acme/shop/-/commits/main)
**Commit:** [Round prices & taxes](https://git.example.org/acme/shop/-/commit/9f8e)
**Failed job:** [test:unit](https://git.example.org/acme/shop/-/jobs/7)
shop · 2026-07-25 17:20 UTC"""
GITLAB_PUSH: dict[str, Any] = {
    "text": "Ada (ada) pushed to branch <https://git.example.org/acme/shop/-/commits/main|main> of "
    "<https://git.example.org/acme/shop|Acme / shop> (<https://git.example.org/acme/shop/-/compare/1a...9f|"
    "Compare changes>)",
    "attachments": [
        {
            "text": "<https://git.example.org/acme/shop/-/commit/9f8e|9f8e>: Round prices - Ada\n\n"
            "<https://git.example.org/acme/shop/-/commit/8e7d|8e7d>: Test prices - Ada",
            "color": "#334455",
        }
    ],
}
GITLAB_PUSH_TEXT = """\
Ada (ada) pushed to branch [main](https://git.example.org/acme/shop/-/commits/main) of \
[Acme / shop](https://git.example.org/acme/shop) \
([Compare changes](https://git.example.org/acme/shop/-/compare/1a...9f))

[9f8e](https://git.example.org/acme/shop/-/commit/9f8e): Round prices - Ada

[8e7d](https://git.example.org/acme/shop/-/commit/8e7d): Test prices - Ada"""

# Jenkins: src/main/java/jenkins/plugins/slack/StandardSlackService.java of jenkinsci/slack-plugin
# (`publish`), a form; the message is that of ActiveNotifier.java.
JENKINS: dict[str, Any] = {
    "channel": "#builds",
    "attachments": [
        {
            "fallback": "shop » main - #118 Failure after 4 min 2 sec (<https://ci.example.org/job/shop/118/|Open>)",
            "color": "danger",
            "fields": [
                {
                    "short": False,
                    "value": "shop » main - #118 Failure after 4 min 2 sec "
                    "(<https://ci.example.org/job/shop/118/|Open>)\n*Test Status*:\n\tPassed: 311, Failed: 2",
                }
            ],
            "mrkdwn_in": ["pretext", "text", "fields"],
        }
    ],
    "link_names": "1",
}
JENKINS_TEXT = """\
shop » main - #118 Failure after 4 min 2 sec ([Open](https://ci.example.org/job/shop/118/))
**Test Status**:
\tPassed: 311, Failed: 2"""

# Sentry: src/sentry_plugins/slack/plugin.py of getsentry/sentry (`notify`), the plugin for webhooks, a form.
SENTRY: dict[str, Any] = {
    "attachments": [
        {
            "fallback": "[acme shop] ZeroDivisionError: division by zero",
            "title": "ZeroDivisionError: division by zero",
            "title_link": "https://sentry.example.org/acme/shop/issues/1701/?referrer=slack",
            "color": "#f43f20",
            "fields": [
                {"title": "Culprit", "value": "shop.prices in average", "short": False},
                {"title": "Project", "value": "acme shop", "short": True},
                {
                    "title": "Triggered By",
                    "value": "<https://sentry.example.org/acme/shop/settings/alerts/rules/5/ | New issues>",
                    "short": False,
                },
            ],
        }
    ],
    "username": "Sentry",
    "channel": "#errors",
}
SENTRY_TEXT = """\
**[ZeroDivisionError: division by zero](https://sentry.example.org/acme/shop/issues/1701/?referrer=slack)**
**Culprit:** shop.prices in average
**Project:** acme shop
**Triggered By:** [New issues](https://sentry.example.org/acme/shop/settings/alerts/rules/5/)"""

# Uptime Kuma: server/notification-providers/slack.js of louislam/uptime-kuma (`send`).
UPTIME_KUMA: dict[str, Any] = {
    "text": "Uptime Kuma Alert\n[Shop] [🔴 Down] Request failed with status code 503 <!channel>",
    "channel": "#ops",
    "username": "Uptime Kuma",
    "icon_emoji": ":robot_face:",
    "attachments": [
        {
            "color": "#e01e5a",
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "Uptime Kuma Alert"}},
                {
                    "type": "section",
                    "fields": [
                        {
                            "type": "mrkdwn",
                            "text": "*Message*\n[Shop] [🔴 Down] Request failed with status code 503 "
                            "<!channel>",
                        },
                        {"type": "mrkdwn", "text": "*Time (UTC)*\n2026-07-25 17:20:00.000"},
                    ],
                },
                {
                    "type": "actions",
                    "elements": [
                        {
                            "type": "button",
                            "text": {"type": "plain_text", "text": "Visit Uptime Kuma"},
                            "value": "Uptime-Kuma",
                            "url": "https://status.example.org/dashboard/3",
                        }
                    ],
                },
            ],
        }
    ],
}
UPTIME_KUMA_TEXT = """\
Uptime Kuma Alert
[Shop] [🔴 Down] Request failed with status code 503 @channel

**Uptime Kuma Alert**
**Message**
[Shop] [🔴 Down] Request failed with status code 503 @channel
**Time (UTC)**
2026-07-25 17:20:00.000
[Visit Uptime Kuma](https://status.example.org/dashboard/3)"""

# A payload, whether it comes as a form, and what is read of it, by the tool.
TOOLS: dict[str, tuple[dict[str, Any], bool, str]] = {
    "Grafana": (GRAFANA, False, GRAFANA_TEXT),
    "Alertmanager": (ALERTMANAGER, False, ALERTMANAGER_TEXT),
    "GitLab's pipelines": (GITLAB_PIPELINE, True, GITLAB_PIPELINE_TEXT),
    "GitLab's pushes": (GITLAB_PUSH, True, GITLAB_PUSH_TEXT),
    "Jenkins": (JENKINS, True, JENKINS_TEXT),
    "Sentry": (SENTRY, True, SENTRY_TEXT),
    "Uptime Kuma": (UPTIME_KUMA, False, UPTIME_KUMA_TEXT),
}
