// The panel beside the form: what a call would do, as the server reports it.
import { json, make } from "./result.js";

const by = (id) => document.getElementById(id);
const exactly = { reads: "Reads", adds: "Adds", changes: "Changes", deletes: "Deletes", changes_or_deletes: "May change or delete" };
const possibly = { ...exactly, adds: "May add", changes: "May change", deletes: "May delete" };
const decisions = { run: "Runs now", replay: "Replays", join: "Joins", ask: "Needs approval", input: "Needs input", refuse: "Refused" };
const time = (text) => (text ? new Date(text).toLocaleString() : "");
const ended = (label) => (record) => `${label}${record.completedAt ? ` (${time(record.completedAt)})` : ""}. This key returns the stored result.`;
const records = {
  succeeded: ended("Succeeded"),
  failed: ended("Failed"),
  result_invalid: ended("Invalid result"),
  running: (record) => `Running${record.since ? ` since ${time(record.since)}` : ""}. The call waits for its result.`,
  input_required: () => "Needs input. The call asks for it again.",
  approval_required: () => "Needs approval. A reviewer has the request.",
  approved: (record) => `Approved by ${record.by}. The call can start.`,
  denied: (record) => `Denied by ${record.by}${record.reason ? `: ${record.reason}` : ""}`,
  outcome_unknown: () => "Outcome unknown. The call does not start again.",
  result_expired: () => "Result expired. Use a new key.",
  result_too_large: () => "The result was too large to store. Use a new key.",
  abandoned: () => "Abandoned. Use a new key.",
  idempotency_key_reused: () => "This key was already used with different arguments. Use a new key.",
  ledger_unavailable: () => "The ledger is unavailable.",
};

/** Returns true if the tool does not declare its effect, so that the worst case applies. */
export const isUnclassified = ({ sources }) => Object.values(sources).every((source) => source === "default");

/** Shows the server's answer. `errors` are its errors, each with the name of its field. */
export function foretell(panel, answer, errors) {
  panel.dataset.state = answer.exact ? "exact" : "partial";
  const unclassified = isUnclassified(answer);
  panel.dataset.verdict = unclassified ? "unclassified" : answer.effect;
  // An unknown word does not count as a harmless one.
  const effect = Object.hasOwn(exactly, answer.effect) ? answer.effect : "changes_or_deletes";
  const words = (answer.exact ? exactly : possibly)[effect];
  const color = effect === "changes_or_deletes" ? "deletes" : effect;
  by("verdict").replaceChildren(make("span", { class: `verdict ${color}` }, unclassified ? "Unclassified" : words));
  const hints = answer.annotations;
  by("besides").className = "besides";
  by("besides").textContent = unclassified ? "treated as the worst case" : `${hints.idempotentHint ? "safe to retry" : "not safe to retry"} · ${hints.openWorldHint ? "external" : "local"}`;
  by("exact").textContent = answer.exact ? "With these arguments" : "What is still possible with what is written so far";
  for (const row of panel.querySelectorAll("[data-hint]")) {
    const name = row.dataset.hint;
    row.children[1].textContent = String(hints[name]);
    row.children[2].textContent = answer.sources[name];
  }
  by("fits").dataset.valid = String(answer.valid);
  by("fits").replaceChildren(answer.valid ? "fit the schema" : make("ul", {}, ...errors.slice(0, 6).map(({ name, message }) =>
    make("li", {}, make("code", {}, name), ` ${message}`))));
  by("decision").textContent = decisions[answer.decision] ?? answer.decision;
  const record = answer.record && (records[answer.record.state]?.(answer.record) ?? answer.record.state);
  by("record").hidden = by("record-is").hidden = !record;
  by("record").dataset.state = answer.record?.state ?? "";
  by("record").textContent = record ?? "";
  by("answer").textContent = json(answer);
}

/** Shows why there is no answer. */
export function cannotTell(panel, why) {
  panel.dataset.state = "unknown";
  by("fits").textContent = why;
}
