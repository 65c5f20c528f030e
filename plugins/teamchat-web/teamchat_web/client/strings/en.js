// Every word that people read, in English. `strings/de.js` has the same keys and the same placeholders (a
// test compares them). A value of {one, other} is chosen by the number `count`. No markup: values are text.
export default {
  "common.cancel": "Cancel",
  "common.close": "Close",
  "common.notices": "Notices",
  "common.save": "Save",

  "problem.unreachable": "The server can’t be reached. Check your connection and try again.",
  "problem.server": "The server had a problem. Try again.",
  "problem.wait": {
    one: "Too many attempts. Try again in {count} second.",
    other: "Too many attempts. Try again in {count} seconds.",
  },

  "settings.title": "Settings",

  "shell.skip": "Skip to writing",
  "shell.drawer": "Open the sidebar",

  "sidebar.label": "Channels and conversations",
  "sidebar.channels": "Channels",
  "sidebar.ctrl": "Ctrl",
  "sidebar.people": "Direct messages",
  "sidebar.add_channel": "Add a channel",
  "sidebar.add_person": "Write to somebody",
  "sidebar.jump": "Jump to …",
  "sidebar.offline": "No connection. What you write is sent later.",
  "sidebar.draft": "Draft",
  "sidebar.private": "Private channel",
  "sidebar.notes": "Notes to self",
  "sidebar.unread": "{count} unread",
  "sidebar.mentions": "{count} for you",

  "threads.title": "Threads",
  "activity.title": "Activity",

  "main.missing_part": "This part of the page couldn’t be loaded. It may have been updated.",
  "main.reload": "Load the page anew",

  "time.today": "Today",
  "time.yesterday": "Yesterday",

  "timeline.label": "Messages in {name}",
  "timeline.new": "New",
  "timeline.newest": "Newest messages",
  "timeline.missed": {
    one: "{count} new message",
    other: "{count} new messages",
  },
  "timeline.error": "These messages couldn’t be loaded.",
  "timeline.again": "Try again",
  "timeline.start_channel": "This is the beginning of {name}.",
  "timeline.start_person": "This is the beginning of your conversation with {name}. Only you two can read it.",

  "message.bot": "Bot",
  "message.failed": "Not sent. {reason}",
  "message.edited": "(edited)",
  "message.replies": {
    one: "{count} reply",
    other: "{count} replies",
  },
  "message.images": {
    one: "{count} image",
    other: "{count} images",
  },
  "message.new_replies": "{count} new",
  "message.last_reply": "last at {time}",

  "reactions.label": "Reactions",
  "reactions.add": "Add a reaction",
  "reactions.people": "Who reacted",
  "reactions.by": {
    one: "{reaction}, {count} person: {names}",
    other: "{reaction}, {count} people: {names}",
  },

  "composer.to": "Write to {name}",
  "composer.edit": "Edit the message",
  "composer.send": "Send",
  "composer.image": "Add images",
  "composer.emoji": "Insert an emoji",

  "post.files_lost": "The images of this message are no longer there.",
};
