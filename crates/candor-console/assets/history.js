// History: saying what came of a call of which nobody knows.

import { ask, say, told } from "./console.js";

const trouble = document.getElementById("trouble");
document.querySelector("[data-resolve]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const body = { finding: form.elements.finding.value };
  const text = form.elements.text.value;
  if (text && (body.finding === "done" || body.finding === "failed")) body.text = text;
  const button = form.querySelector("button");
  button.disabled = true;
  const response = await ask("POST", `/history/${form.dataset.resolve}/resolve`, body);
  if (response.ok) {
    say("Written down");
    location.reload();
  } else {
    trouble.textContent = await told(response);
    trouble.hidden = false;
    button.disabled = false;
  }
});
