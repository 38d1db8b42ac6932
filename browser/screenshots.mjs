// Takes the pictures of the README: real pages with real data, in the light theme, cut at the end of the page.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at, becomes } from './stage.mjs';
import { furnished } from './tour.mjs';

const WIDTH = 1280;

/** The maximum height of a picture. A longer page is cut. */
const TALLEST = 800;

/** The maximum size of a picture in bytes, because the README loads all of them. */
const HEAVIEST = 150_000;

async function take(page, path, tallest = TALLEST) {
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
  await page.evaluate(() => document.activeElement?.blur());
  // The end of the last element, plus a margin.
  const end = await page.evaluate(() => Math.max(...[...document.querySelectorAll('main > *, main > * > *')].map((one) => one.getBoundingClientRect().bottom)));
  const height = Math.min(tallest, Math.ceil(end) + 32);
  await page.screenshot({ path, clip: { x: 0, y: 0, width: WIDTH, height } });
  const { size } = statSync(path);
  assert.ok(size < HEAVIEST, `${path} has ${size} bytes`);
}

export async function shoot(stage, folder) {
  mkdirSync(folder, { recursive: true });
  // Not in this repository, because the path of the folder is in the picture.
  const home = mkdtempSync(join(tmpdir(), 'candor-'));
  try {
    await pictures(stage, await furnished(stage, join(home, 'handbook')), folder);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function pictures(stage, { server }, folder) {
  const page = await stage.operator(server, { viewport: { width: WIDTH, height: 1000 }, colorScheme: 'light' });
  await page.goto(`${server.origin}/ui/approvals`);
  await at(page, 'question').waitFor();
  await page.locator('#waiting:not([hidden])').waitFor();
  await take(page, join(folder, 'approvals.png'), 900);

  const args = encodeURIComponent(JSON.stringify({ path: 'drafts/proposal.md', action: 'delete' }));
  await page.goto(`${server.origin}/ui/tools/manage_files#args=${args}`);
  await becomes(at(page, 'foresight'), 'data-state', 'exact');
  await page.locator('#waiting:not([hidden])').waitFor();
  await take(page, join(folder, 'tool.png'));

  await page.goto(`${server.origin}/ui/history`);
  await at(page, 'history').waitFor();
  await page.locator('#waiting:not([hidden])').waitFor();
  await take(page, join(folder, 'history.png'));
}
