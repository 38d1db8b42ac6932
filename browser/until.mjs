// Waiting for something to be so: never for a time.

/** The first answer of `look` that is not false; an error that says `what` if there is none in time. */
export async function until(what, look, patience = 20_000) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${patience / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
