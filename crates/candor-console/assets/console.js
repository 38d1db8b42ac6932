// Common to all pages: log in with the token of a link, call the server, show what needs approval, and handle keys.

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
export const base = meta("candor-base");
export const operator = document.body.dataset.operator === "true";

// Browsers send cookies to every port of a host, so another server on this machine may have ours. The proof shows that a request
// comes from a page of this server. It is in local storage, which belongs to one origin, port included, and which all tabs share.
const KEPT = `candor:${base}`;
/** Stores the proof together with its principal, so that other tabs learn both at once. */
function keep(proof, principal) {
  // A browser may be set to store nothing. Then the user can read, and must log in again to act.
  try { if (proof) localStorage.setItem(KEPT, `${proof} ${principal}`); else localStorage.removeItem(KEPT); } catch { /* The banner says so. */ }
}
function kept() {
  try { return localStorage.getItem(KEPT)?.split(" ")[0]; } catch { return undefined; }
}
/** Returns true if a newer login has replaced this proof. Then a refusal of the old proof means nothing. */
const anew = (proof) => Boolean(kept()) && kept() !== proof;

const banner = document.getElementById("banner");
/** Shows the login banner to a user who seemed to be logged in. */
function wantLogIn() {
  if (banner) banner.hidden = false;
}

/** Sends a request with the proof. If the server cannot be reached, returns a response of type `error`. */
export async function ask(method, path, body, headers = {}, signal) {
  const init = { method, headers: { Accept: "application/json", ...headers }, credentials: "same-origin", signal };
  const proof = kept();
  if (proof) init.headers["X-Candor-Csrf"] = proof;
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const response = await fetch(base + path, init).catch((error) => {
    if (error.name === "AbortError") throw error;
    return Response.error();
  });
  const refused = response.status === 401 || (response.status === 403 && (await code(response)) === "csrf");
  if (refused && !anew(proof)) wantLogIn();
  return response;
}

/** The code of a problem, for programs. */
export const code = (response) => response.clone().json().then((problem) => problem.code, () => undefined);

/** The message of a problem, for users. */
export async function told(response) {
  if (response.type === "error") return "The server cannot be reached.";
  try {
    const problem = await response.clone().json();
    return problem.detail ?? problem.suggestions?.[0] ?? problem.error ?? response.statusText;
  } catch {
    return response.statusText || `status ${response.status}`;
  }
}

/** Announces a change to screen readers. */
export function say(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = text; });
}

function typing(target) {
  return target.matches?.("input, textarea, select, [contenteditable]") ?? false;
}

/** Exchanges a token for a cookie and a proof. Returns why it failed, or an empty text. */
async function logIn(token) {
  const response = await ask("POST", "/ui/session", { token });
  if (!response.ok) return told(response);
  const { proof, principal } = await response.json();
  keep(proof, principal);
  if (goOn(principal)) say("Logged in");
  return "";
}

const who = document.querySelector("[data-who]");
/** Keeps the page and its input for the same principal. Reloads it for another one. */
function goOn(principal) {
  if (who?.textContent !== principal) { location.reload(); return false; }
  banner.hidden = true;
  dispatchEvent(new Event("candor:logged-in"));
  return true;
}
// A login counts for all tabs that have a principal, including the one that listens.
addEventListener("storage", ({ key, newValue }) => {
  if (key === KEPT && newValue && who) goOn(newValue.slice(newValue.indexOf(" ") + 1));
});

const login = document.querySelector("form.login");
/** Shows why a login failed, or clears the message. */
function refuse(why) {
  const place = login?.querySelector("[role=alert]");
  if (place) { place.textContent = why; place.hidden = !why; } else say(why);
}
// Without a script, the form also logs in, but only to read.
login?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = login.elements.token;
  const why = await logIn(field.value.trim());
  refuse(why);
  if (why) { field.focus(); field.select(); } else field.value = "";
});

// The token is in the link's fragment, which is never sent. It is exchanged once, and removed from the address.
async function logInByLink() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  // Anyone can make a link. A link with the author's own token would make the operator act in the author's name.
  if (who && operator && kept() && banner.hidden) return;
  const why = await logIn(token);
  if (why) { wantLogIn(); refuse(why); }
}
logInByLink();
addEventListener("hashchange", logInByLink);
// The cookie is here without its proof: another page has the proof, or the storage was cleared.
if (banner?.hidden && !kept()) wantLogIn();

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-do]");
  if (!button) return;
  if (button.dataset.do === "log-out") {
    const response = await ask("DELETE", "/ui/session");
    const still = document.getElementById("still");
    // Only the server's response ends the cookie.
    if (!response.ok) { still.textContent = `You are still logged in. ${await told(response)}`; still.hidden = false; return; }
    keep(null);
    location.reload();
  }
  if (button.dataset.do === "copy") {
    const source = document.getElementById(button.dataset.of);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      // Without a secure origin there is no clipboard. The user can copy the selected text.
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
    say(button.textContent);
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }
});

// Keys: single letters, and never while the user types.
const places = { t: "/ui/tools", a: "/ui/approvals", h: "/ui/history", r: "/ui/resources", s: "/ui/server" };
let going = 0;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target)) return;
  const sheet = document.getElementById("shortcuts");
  if (event.key === "?" ) {
    event.preventDefault();
    if (!sheet.open) sheet.showModal();
  } else if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  } else if (event.key === "g") {
    going = Date.now();
  } else if (Date.now() - going < 1500 && Object.hasOwn(places, event.key)) {
    location.href = base + places[event.key];
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !document.querySelector("dialog[open]")) {
    const all = [...document.querySelectorAll("[data-list] [data-item]")].filter((item) => item.offsetParent);
    if (!all.length || event.target.closest?.("[role=tree]")) return;
    const at = all.findIndex((item) => item === document.activeElement || item.contains(document.activeElement));
    const next = event.key === "ArrowDown" ? at + 1 : at < 0 ? all.length - 1 : at - 1;
    if (all[next]) { event.preventDefault(); all[next].focus(); }
  }
});

/** Shows the number of pending requests in the navigation, the title and the icon. */
function waiting(count) {
  const badge = document.getElementById("waiting");
  if (!badge) return;
  badge.hidden = count === 0;
  badge.textContent = count;
  badge.setAttribute("aria-label", count === 1 ? "1 call waits" : `${count} calls wait`);
  document.title = document.title.replace(/^\(\d+\) /, "");
  if (count) document.title = `(${count}) ${document.title}`;
  document.querySelector("link[rel=icon]").href = `${base}/ui/assets/${count ? "icon-waiting.svg" : "icon.svg"}`;
}

/** True if a message about pending requests has arrived. A page's own script may load after that. */
export let heard = false;

// An operator's page receives every request as it arrives. A browser opens only a few connections to a server, so its tabs share
// one: the first listens and tells the others; if it closes, the next takes its place.
if (operator && document.getElementById("waiting")) {
  const tabs = new BroadcastChannel(`candor:${base}`);
  const WHAT = "what is known?";
  let known;
  const lost = document.getElementById("lost");
  let since;
  /** Shows that the server cannot be reached, if that lasts, or that it is back. */
  const miss = (gone) => {
    clearTimeout(since);
    if (!gone) lost.hidden = true;
    else since = setTimeout(() => { if (lost.hidden) say("The server cannot be reached"); lost.hidden = false; }, 1000);
  };
  const hear = (said) => {
    miss(said.lost);
    if (said.out) wantLogIn();
    if (said.waiting === undefined) return;
    if (known !== undefined && said.waiting > known.waiting) say(said.waiting === 1 ? "A call waits for you" : `${said.waiting} calls wait for you`);
    known = said;
    heard = true;
    waiting(said.waiting);
    dispatchEvent(new CustomEvent("candor:waiting", { detail: said }));
  };
  const tell = (said) => { hear(said); tabs.postMessage(said); };
  let listens = false;
  /** Milliseconds until a new attempt, if the server has no capacity, or a proxy responds without it. */
  const AGAIN = 3000;
  const listen = () => {
    listens = true;
    const source = new EventSource(`${base}/approvals/events`);
    source.addEventListener("waiting", (event) => tell(JSON.parse(event.data)));
    // A browser reconnects by itself, but not after a refusal.
    source.addEventListener("error", async () => {
      if (source.readyState !== EventSource.CLOSED) { tell({ lost: true }); return; }
      const proof = kept();
      const { ok, status } = await ask("GET", "/approvals/grants");
      if (anew(proof)) { listen(); return; }
      if (status !== 401 && status !== 403) { tell({ lost: !ok }); setTimeout(listen, AGAIN); return; }
      // A server that was restarted knows no logins.
      addEventListener("candor:logged-in", listen, { once: true });
      tell({ out: status === 401 });
    });
  };
  tabs.addEventListener("message", ({ data }) => {
    if (data !== WHAT) hear(data);
    else if (listens && known) tabs.postMessage(known);
  });
  // Without a secure origin there are no locks, so each tab listens for itself.
  if (navigator.locks) navigator.locks.request(`candor:${base}`, () => { listen(); return new Promise(() => {}); });
  else listen();
  tabs.postMessage(WHAT);
}
