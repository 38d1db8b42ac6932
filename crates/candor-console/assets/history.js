// History: recording an unknown outcome.

import { ask, say, told } from "./console.js";

const trouble = document.getElementById("trouble");
document.querySelector("[data-resolve]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const body = { state: form.elements.state.value };
  const text = form.elements.text.value;
  if (text && (body.state === "succeeded" || body.state === "failed")) body.text = text;
  const button = form.querySelector("button");
  button.disabled = true;
  const response = await ask("POST", `/history/${form.dataset.resolve}/resolve`, body);
  if (response.ok) {
    say("Outcome recorded");
    location.reload();
  } else {
    trouble.textContent = await told(response);
    trouble.hidden = false;
    button.disabled = false;
  }
});
