// Dots at the names of people who are seen on the page, and what a screen reader is told at them.

const READ_MS = 300_000; // signals may be lost
const MOST = 200;

export class Dots {
  #teamchat;
  #known = new Map();
  #people = [];
  #heard = () => {};
  #timer = 0;

  constructor(teamchat) {
    this.#teamchat = teamchat;
    const { signal } = teamchat;
    const look = new MutationObserver(() => this.#lookSoon());
    look.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-person"], attributes: true });
    const again = setInterval(() => document.hidden || this.read(), READ_MS);
    signal.addEventListener("abort", () => {
      look.disconnect();
      clearInterval(again);
      clearTimeout(this.#timer);
    });
    this.#lookSoon();
  }

  /** The people who are seen. */
  get people() {
    return this.#people;
  }

  onPeople(heard) {
    this.#heard = heard;
  }

  told({ userId, ...presence }) {
    this.#known.set(userId, presence);
    this.#draw();
  }

  /** Ask for all that are seen. */
  async read() {
    await this.#read(this.#people);
  }

  async #read(people) {
    if (!people.length) return;
    const { api } = this.#teamchat;
    try {
      const { presence } = await api.get(`/presence?userIds=${people.join(",")}`);
      for (const { userId, ...one } of presence) this.#known.set(userId, one);
      this.#draw();
    } catch {
      // Presence gives way on a busy server; it is asked for again in time.
    }
  }

  #lookSoon() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.#look();
    }, 250);
  }

  #look() {
    const people = [...new Set([...this.#names().values()])].slice(0, MOST);
    const added = people.filter((id) => !this.#people.includes(id));
    const isSame = !added.length && people.length === this.#people.length;
    this.#people = people;
    if (!isSame) this.#heard();
    this.#draw();
    this.#read(added);
  }

  /** The elements that are somebody's name, and whose; within a sentence dots would only disturb. */
  #names() {
    const { roomOf } = this.#teamchat;
    const found = new Map();
    for (const node of document.querySelectorAll(".sidebar a.side-link")) {
      const id = /dm:[0-9a-f]{32}/.exec(decodeURIComponent(node.href))?.[0];
      const person = id && roomOf(id)?.person;
      if (person) found.set(node, person);
    }
    for (const node of document.querySelectorAll("[data-person]:not([data-bot], .mention)")) {
      if (/^[0-9a-f]{32}$/.test(node.dataset.person)) found.set(node, node.dataset.person);
    }
    return found;
  }

  #draw() {
    const { t, time, day } = this.#teamchat;
    for (const [node, person] of this.#names()) {
      const { status, isDnd, lastSeen } = this.#known.get(person) ?? {};
      if (!status) continue;
      const words = [t(status), isDnd && t("dnd")].filter(Boolean);
      if (status !== "online" && lastSeen) words.push(t("seen", { day: day(lastSeen), time: time(lastSeen) }));
      const says = words.join(", ");
      if (node.dataset.presence !== (isDnd ? "dnd" : status)) node.dataset.presence = isDnd ? "dnd" : status;
      if (node.title !== says) node.title = says;
    }
  }
}
