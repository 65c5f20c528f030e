// Jedes Wort, das Menschen lesen, auf Deutsch: dieselben Schlüssel und Platzhalter wie in `strings/en.js`.
// Die Anrede ist Du; übersetzt wird der Sinn, nicht das Wort.
export default {
  "common.cancel": "Abbrechen",
  "common.close": "Schließen",
  "common.notices": "Hinweise",
  "common.save": "Speichern",

  "problem.unreachable": "Der Server ist nicht erreichbar. Prüfe deine Verbindung und versuche es noch einmal.",
  "problem.server": "Auf dem Server ist etwas schiefgegangen. Bitte versuche es noch einmal.",
  "problem.wait": {
    one: "Zu viele Versuche. In {count} Sekunde geht es weiter.",
    other: "Zu viele Versuche. In {count} Sekunden geht es weiter.",
  },

  "settings.title": "Einstellungen",

  "shell.skip": "Zum Schreiben springen",
  "shell.drawer": "Seitenleiste öffnen",

  "sidebar.label": "Kanäle und Unterhaltungen",
  "sidebar.channels": "Kanäle",
  "sidebar.ctrl": "Strg",
  "sidebar.people": "Direktnachrichten",
  "sidebar.add_channel": "Kanal anlegen",
  "sidebar.add_person": "Jemandem schreiben",
  "sidebar.jump": "Springe zu …",
  "sidebar.offline": "Keine Verbindung. Geschriebenes geht später raus.",
  "sidebar.draft": "Entwurf",
  "sidebar.private": "Privater Kanal",
  "sidebar.notes": "Notizen an mich",
  "sidebar.unread": "{count} ungelesen",
  "sidebar.mentions": "{count} für dich",

  "threads.title": "Threads",
  "activity.title": "Aktivität",

  "main.missing_part": "Dieser Teil der Seite lässt sich nicht laden. Vielleicht gibt es eine neue Fassung.",
  "main.reload": "Seite neu laden",

  "time.today": "Heute",
  "time.yesterday": "Gestern",

  "timeline.label": "Nachrichten in {name}",
  "timeline.new": "Neu",
  "timeline.newest": "Neueste Nachrichten",
  "timeline.missed": {
    one: "{count} neue Nachricht",
    other: "{count} neue Nachrichten",
  },
  "timeline.error": "Diese Nachrichten ließen sich nicht laden.",
  "timeline.again": "Nochmals versuchen",
  "timeline.start_channel": "Hier beginnt {name}.",
  "timeline.start_person": "Hier beginnt deine Unterhaltung mit {name}. Nur ihr beide könnt sie lesen.",

  "message.bot": "Bot",
  "message.failed": "Nicht gesendet. {reason}",
  "message.edited": "(bearbeitet)",
  "message.replies": {
    one: "{count} Antwort",
    other: "{count} Antworten",
  },
  "message.images": {
    one: "{count} Bild",
    other: "{count} Bilder",
  },
  "message.new_replies": "{count} neu",
  "message.last_reply": "zuletzt um {time}",

  "reactions.label": "Reaktionen",
  "reactions.add": "Reaktion hinzufügen",
  "reactions.people": "Wer reagiert hat",
  "reactions.by": {
    one: "{reaction}, {count} Person: {names}",
    other: "{reaction}, {count} Personen: {names}",
  },

  "composer.to": "An {name} schreiben",
  "composer.edit": "Nachricht bearbeiten",
  "composer.send": "Senden",
  "composer.image": "Bilder hinzufügen",
  "composer.emoji": "Emoji einfügen",

  "post.files_lost": "Die Bilder dieser Nachricht sind nicht mehr da.",
};
