// Waits for a condition, never for a fixed time.

/** Returns the first truthy answer of `look`. Fails with `what` if there is none in time. */
export async function until(what, look, patience = 20_000) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${patience / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
