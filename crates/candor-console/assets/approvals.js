// Approvals: requests appear as they arrive, and a decision covers exactly what the page showed.

import { ask, base, code, heard, say, told } from "./console.js";
import { make } from "./result.js";

const desk = document.getElementById("desk");
const trouble = document.getElementById("trouble");
const done = document.getElementById("decided");

function complain(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
  if (text) trouble.scrollIntoView({ block: "nearest" });
}

/** The grant that the card's form describes. */
function grant(card) {
  const wanted = { minutes: Number(card.querySelector("[data-minutes]").value), any: [], under: {} };
  for (const select of card.querySelectorAll("[data-like]")) {
    if (select.value === "any") wanted.any.push(select.dataset.like);
    if (select.value === "under") wanted.under[select.dataset.like] = select.selectedOptions[0].dataset.folder;
  }
  return wanted;
}

/** A link to the card's operation. */
const operation = (card) => make("a", { href: `${base}/ui/history/${card.dataset.id}` }, "View operation");

/** Says what comes next for a call that was decided. */
function tellDecided(card, verb) {
  const [word, next] = verb === "approve" ? ["approved", ". It starts now if its caller still waits. Otherwise the caller must repeat the call within 15 minutes. "] : ["denied", ". The caller gets the denial. "];
  done.replaceChildren(`You ${word} `, make("span", { class: "name" }, card.querySelector(".name").textContent), next, operation(card));
  done.hidden = false;
}

async function decide(card, button) {
  // A secret has no preselected choice.
  const open = button.dataset.with === "grant" && [...card.querySelectorAll("[data-like]")].find((select) => !select.value);
  if (open) {
    complain(`Choose what ${open.dataset.like} may be: it is a secret, so a grant cannot match its value.`);
    open.focus();
    return;
  }
  const body = { version: card.dataset.version };
  if (button.dataset.with === "reason") body.reason = card.querySelector("[data-reason]").value;
  if (button.dataset.with === "grant") body.grant = grant(card);
  const verb = button.dataset.decide;
  card.querySelectorAll("button").forEach((one) => { one.disabled = true; });
  const response = await ask("POST", `/approvals/${card.dataset.id}/${verb}`, body);
  if (response.ok) {
    complain("");
    if ("one" in desk.dataset) { location.href = `${base}/ui/history/${card.dataset.id}`; return; }
    say(verb === "approve" ? "Approved" : "Denied");
    tellDecided(card, verb);
    decided = card;
    await refresh();
  } else {
    // Omit the hint for the command line.
    complain((await told(response)).replace(/ (See|Review it again): candor .*$/, ""));
    // Another reviewer was faster, or the request changed. A request that cannot be read can still be denied.
    const over = response.status === 409 && (await code(response)) !== "request_unreadable";
    if (over) trouble.append(" ", operation(card));
    card.querySelectorAll("button").forEach((one) => { one.disabled = over; });
    await refresh();
  }
}

/** The last card that was decided here, until it is gone. */
let decided = null;

/** Refreshes are numbered: how many were started, and which of them was shown last. */
let looked = 0;
let seen = 0;

/** When a card was last removed, so that others moved to its place. */
let moved = -Infinity;

/** After a move, nothing can be approved for this time, in milliseconds: the reviewer has not read the new card under the pointer yet. */
const UNREAD = 600;

/** True if the last refresh failed. */
let blind = false;

/** Fetches a part of a page, as a document. The content security policy forbids all scripts to turn text into markup. */
function part(url) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.addEventListener("loadend", () => {
      const good = request.status === 200 && request.response;
      if (good && blind) complain("");
      blind = !good;
      if (blind) complain(request.status === 401 ? "You are no longer logged in: log in at the top of the page." : "The server cannot be reached. Requests appear when it is back.");
      resolve(good ? request.response : null);
    });
    request.send();
  });
}

/** Adds what is new. Leaves alone the cards that a reviewer reads or types into. */
async function refresh() {
  if ("one" in desk.dataset) return;
  const mine = ++looked;
  const fresh = await part(`${base}/ui/approvals?part=desk`);
  // A later refresh was answered earlier, so the page is newer.
  if (!fresh || mine < seen) return;
  seen = mine;
  const [was, now] = [desk.querySelector("#questions"), fresh.querySelector("#questions")];
  // The version is not enough: two callers may send the same call. And a card that was too large may have enough space now.
  const name = (card) => `${card.dataset.id} ${card.dataset.version} ${"large" in card.dataset}`;
  const kept = new Map([...was.querySelectorAll("[data-version]")].map((card) => [name(card), card]));
  const inside = was.contains(document.activeElement);
  const cards = [...now.children].map((card) => kept.get(name(card)) ?? document.importNode(card, true));
  for (const card of cards) card.querySelectorAll("[autofocus]").forEach((one) => one.removeAttribute("autofocus"));
  const same = cards.length === was.children.length && cards.every((card, at) => card === was.children[at]);
  if (!same) {
    // Moving a node takes its focus away, so touch only what is gone or new.
    for (const card of [...was.children]) {
      if (cards.includes(card)) continue;
      // Only what was below it moves.
      if ("version" in card.dataset && card.nextElementSibling) moved = performance.now();
      card.remove();
    }
    cards.forEach((card, at) => { if (was.children[at] !== card) was.insertBefore(card, was.children[at] ?? null); });
  }
  // After a decision the next card gets the focus, whichever refresh removed the decided one.
  const moveOn = decided && !decided.isConnected;
  if ((moveOn || inside) && !was.contains(document.activeElement)) (was.querySelector("[data-decide=deny]") ?? document.getElementById("main")).focus();
  if (moveOn) decided = null;
  const grants = desk.querySelector("#questions").nextSibling;
  while (grants && desk.lastChild !== desk.querySelector("#questions")) desk.lastChild.remove();
  let node = now.nextSibling;
  while (node) { const next = node.nextSibling; desk.append(document.importNode(node, true)); node = next; }
  count();
}

/** Updates the time that is left. */
function count() {
  for (const card of desk.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.round((Date.parse(card.dataset.until) - Date.now()) / 1000));
    const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
    const words = hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${seconds} s` : `${seconds} s`;
    card.querySelector(".left").textContent = left ? `${words} left to decide` : "too late to decide";
  }
}

desk.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.decide === "approve" && performance.now() - moved < UNREAD) {
    say("The requests moved. Review them again.");
    return;
  }
  if (button?.dataset.decide) decide(button.closest("[data-version]"), button);
  if (button?.dataset.revoke) {
    button.disabled = true;
    const response = await ask("DELETE", `/approvals/grants/${button.dataset.revoke}`);
    complain(response.ok ? "" : await told(response));
    if (response.ok) say("Revoked");
    await refresh();
  }
});

addEventListener("candor:waiting", () => refresh());
if (heard) refresh();
setInterval(count, 1000);
count();
