// What a call would do, as the server says it: the panel beside the form.
import { json, make } from "./result.js";

const by = (id) => document.getElementById(id);
const exactly = { reads: "Reads", adds: "Adds", changes: "Changes", deletes: "Deletes", changes_or_deletes: "May change or delete" };
const possibly = { ...exactly, adds: "May add", changes: "May change", deletes: "May delete" };
const approvals = { none: "Runs without asking", ask: "Waits until a person approves", deny: "Policy denies it" };
const time = (text) => (text ? new Date(text).toLocaleString() : "");
const standings = {
  replay: (s) => `This key has run${s.completedAt ? ` (${time(s.completedAt)})` : ""}: you would get the first result again`,
  running: (s) => `It is running${s.since ? ` since ${time(s.since)}` : ""}: you would wait for that call`,
  waiting: () => "A person has been asked already, and has not answered",
  approved: (s) => `Approved by ${s.by}: it would start at once`,
  denied: (s) => `Denied by ${s.by}${s.reason ? `: ${s.reason}` : ""}`,
  unknown: () => "It was started, and nobody knows what came of it: it would not start again",
  reused: () => "This key stands for other arguments: take a new one",
  closed: () => "This key cannot be used any more: take a new one",
  unavailable: () => "The ledger cannot be asked just now",
};

/** Returns true if the tool does not declare its effect: the verdict is only what must be assumed. */
export const isUnclassified = ({ sources }) => Object.values(sources).every((source) => source === "default");

/** Says all that the server's answer says. `errors` are its errors, each with the name of its field. */
export function foretell(panel, answer, errors) {
  panel.dataset.state = answer.exact ? "exact" : "partial";
  const unclassified = isUnclassified(answer);
  panel.dataset.verdict = unclassified ? "unclassified" : answer.effect;
  // A word that is not known here is not taken for a harmless one.
  const effect = Object.hasOwn(exactly, answer.effect) ? answer.effect : "changes_or_deletes";
  const words = (answer.exact ? exactly : possibly)[effect];
  const color = effect === "changes_or_deletes" ? "deletes" : effect;
  by("verdict").replaceChildren(make("span", { class: `verdict ${color}` }, unclassified ? "Unclassified" : words));
  const hints = answer.annotations;
  by("besides").className = "besides";
  by("besides").textContent = unclassified ? "treated as the worst case" : `${hints.openWorldHint ? "reaches outside" : "stays local"} · ${hints.idempotentHint ? "repeatable" : "not repeatable"}`;
  by("exact").textContent = answer.exact ? "With these very arguments" : "What is still possible with what is written so far";
  for (const row of panel.querySelectorAll("[data-hint]")) {
    const name = row.dataset.hint;
    row.children[1].textContent = String(hints[name]);
    row.children[2].textContent = answer.sources[name];
  }
  by("fits").dataset.valid = String(answer.valid);
  by("fits").replaceChildren(answer.valid ? "fit the schema" : make("ul", {}, ...errors.slice(0, 6).map(({ name, message }) =>
    make("li", {}, make("code", {}, name), ` ${message}`))));
  by("asks").textContent = approvals[answer.approval] ?? answer.approval;
  const standing = answer.standing && (standings[answer.standing.state]?.(answer.standing) ?? answer.standing.state);
  by("standing").hidden = by("standing-is").hidden = !standing;
  by("standing").dataset.state = answer.standing?.state ?? "";
  by("standing").textContent = standing ?? "";
  by("answer").textContent = json(answer);
}

/** Says why nothing can be said. */
export function cannotTell(panel, why) {
  panel.dataset.state = "unknown";
  by("fits").textContent = why;
}
