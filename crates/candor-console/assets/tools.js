// The list of tools: search and filters. Without this script it is a plain list.
import { say } from "./console.js";

const search = document.getElementById("search");
const boxes = [...document.querySelectorAll("input[name=verdict]")];
const rows = [...document.querySelectorAll("[data-list] li")].map((row) => ({
  row,
  text: `${row.textContent} ${row.dataset.more}`.toLowerCase(),
  verdict: row.dataset.verdict,
}));
const nothing = document.querySelector("[data-testid=nothing-found]");

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdicts = boxes.filter((box) => box.checked).map((box) => box.value);
  let found = 0;
  for (const { row, text, verdict } of rows) {
    row.hidden = !(words.every((word) => text.includes(word)) && (!verdicts.length || verdicts.includes(verdict)));
    if (!row.hidden) found += 1;
  }
  for (const section of document.querySelectorAll("[data-list] section")) {
    section.hidden = !section.querySelector("li:not([hidden])");
  }
  nothing.hidden = found > 0;
  // So that Back returns to the same list.
  const query = new URLSearchParams();
  if (search.value) query.set("q", search.value);
  for (const verdict of verdicts) query.append("verdict", verdict);
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  return found;
}

let saying;
function changed() {
  const found = filter();
  clearTimeout(saying);
  saying = setTimeout(() => say(found === 1 ? "1 tool" : `${found} tools`), 600);
}

if (search) {
  document.querySelector("search").hidden = false;
  const query = new URLSearchParams(location.search);
  search.value = query.get("q") ?? "";
  for (const box of boxes) box.checked = query.getAll("verdict").includes(box.value);
  if (query.size) filter();
  search.addEventListener("input", changed);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      const first = document.querySelector("[data-list] li:not([hidden]) a");
      if (first) { event.preventDefault(); first.focus(); }
    }
    if (event.key === "Enter") document.querySelector("[data-list] li:not([hidden]) a")?.click();
  });
  for (const box of boxes) box.addEventListener("change", changed);
  document.querySelector("[data-do=clear]").addEventListener("click", () => {
    search.value = "";
    for (const box of boxes) box.checked = false;
    changed();
    search.focus();
  });
}
