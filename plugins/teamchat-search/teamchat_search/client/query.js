// What is being typed: the word at the cursor, what it could become, and what in a query only looks like an operator.

const DAY_MS = 86_400_000;
const WORD = /(?:^|\s)(-?)(?:([a-z]+):)?("?[^\s"]*(?:(?<=")[^"]*)?)$/i;
const LIKE_OPERATOR = /(?:^|\s)-?([a-z]+):(?!\/\/)("[^"]*"?|\S+)/gi;

/** The operators, each with the operands there are, or null for names and days, by what the server announces. */
export function operators(announced) {
  const has = ["image", "link", "reaction", "thread"];
  if (announced.files) has.push("file");
  if (announced.pins) has.push("pin");
  const is = ["thread"];
  if (announced.saved) is.push("saved");
  if (announced["read-state"]) is.push("unread");
  const all = { from: null, in: null, before: null, after: null, on: null, has, is };
  return announced.mentions ? { ...all, mentions: null } : all;
}

/** The word that ends at the cursor: where it begins, its sign, operator and operand. */
export function wordAt(text, cursor) {
  const [, sign, name = "", operand] = WORD.exec(text.slice(0, cursor)) ?? [];
  if (operand === undefined) return null;
  const length = sign.length + (name ? name.length + 1 : 0) + operand.length;
  return { start: cursor - length, sign, name: name.toLowerCase(), operand: operand.replaceAll('"', "") };
}

/**
 * What a word could become: {value, note} each; `value` is the whole word without its sign.
 * @param {object} teamchat
 * @param {object} known operators
 * @param {{name: string, operand: string}} word
 */
export async function suggestions({ api, t }, known, { name, operand }) {
  const starts = (one) => one.startsWith(operand.toLowerCase());
  if (!name) {
    const fitting = operand ? Object.keys(known).filter(starts) : [];
    return fitting.map((one) => ({ value: `${one}:`, note: t(`operator_${one}`) }));
  }
  if (!(name in known)) return [];
  const made = (one, note = "") => ({ value: written(name, one), note });
  if (known[name]) return known[name].filter(starts).map((one) => made(one, t(`${name}_${one}`)));
  if (name === "before" || name === "after" || name === "on") {
    return [0, 1, 7, 30].map((days) => made(dayAgo(days), t("days_ago", { count: days }))).filter(fits(operand));
  }
  const asked = new URLSearchParams({ q: operand.replace(/^[@#]/, "").slice(0, 64) });
  if (name === "in") {
    const { channels } = await api.get(`/search/channels?${asked}`);
    const rooms = channels.filter((one) => one.name).map((one) => made(`#${one.name}`));
    return [...rooms, made("dm", t("in_dm"))].filter(fits(operand.replace(/^#/, ""))).slice(0, 8);
  }
  const { users } = await api.get(`/search/people?${asked}`);
  const me = "me".startsWith(operand.toLowerCase()) ? [made("me", t("me"))] : [];
  return [...me, ...users.map(({ userName }) => made(`@${userName}`))].slice(0, 8);
}

/** The words of a query that look like an operator, and are searched for as they are written. */
export function mistaken(query, known) {
  return [...query.matchAll(LIKE_OPERATOR)]
    .filter(([, name, operand]) => {
      const operands = known[name.toLowerCase()];
      return operands === undefined || (operands && !operands.includes(operand.replaceAll('"', "").toLowerCase()));
    })
    .map(([word]) => word.trim());
}

function written(name, operand) {
  return /\s/.test(operand) ? `${name}:"${operand}" ` : `${name}:${operand} `;
}

function fits(operand) {
  return ({ value }) => value.toLowerCase().includes(operand.toLowerCase());
}

/** A day of the calendar here, as YYYY-MM-DD. */
function dayAgo(days) {
  const at = new Date(Date.now() - days * DAY_MS);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((one) => String(one).padStart(2, "0")).join("-");
}
