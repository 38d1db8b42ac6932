// Runs axe-core on every page, in the light and the dark theme.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { furnished, pages, visit } from '../tour.mjs';

export const title = 'axe finds no problem on any page, in the light and the dark theme';
export const long = 1;

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function judge(page, only) {
  // Through the driver, because the page's policy forbids other scripts.
  await page.evaluate(AXE);
  // The page of a tool evaluates its call 200 ms after it opens, and is dimmed until the answer arrives.
  await page.waitForTimeout(250);
  await page.locator('[aria-busy]').waitFor({ state: 'detached' });
  // An element that still fades in does not have its final colors yet.
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
  const { violations, passes } = await page.evaluate((only) => globalThis.axe.run(only ? { runOnly: only } : {}), only);
  assert.ok(passes.length > 0, 'axe looked at something');
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${help}\n${html}\n${failureSummary}`));
}

export async function journey(stage) {
  const tour = await furnished(stage);
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    const visitors = { operator: await stage.operator(tour.server, { colorScheme }), stranger: await stage.stranger({ colorScheme }) };
    for (const stop of pages(tour)) {
      const page = await visit(tour.server, visitors, stop);
      // In the dark theme, only the colors differ.
      for (const one of await judge(page, colorScheme === 'dark' ? ['color-contrast'] : undefined)) found.push(`${stop.name}, ${colorScheme}: ${one}`);
    }
  }
  assert.deepEqual(found, []);
}
