// Everything without a mouse, from the first page to a call and its result. The focus is always visible.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Server, folder } from '../servers.mjs';
import { at, becomes, control, focused } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'from the first page to a result with keys only; the focus is always visible';

/** Fails unless the focused element is in view and shows its focus. */
export async function seen(page) {
  const said = await page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return 'nothing has the focus';
    const what = element.outerHTML.slice(0, 160);
    // In the tree, the row shows the focus of its item.
    const shows = element.matches('[role=treeitem]') ? element.querySelector('.row') : element;
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(shows);
    if (outlineStyle === 'none' || parseFloat(outlineWidth) < 1 || outlineColor === 'rgba(0, 0, 0, 0)') return `not seen: ${what}`;
    const { left, right, top, bottom, width, height } = shows.getBoundingClientRect();
    if (!width || !height || right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight) return `out of sight: ${what}`;
    return '';
  });
  assert.equal(said, '');
}

async function tabTo(page, locator) {
  for (let steps = 0; steps < 40; steps += 1) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
    await seen(page);
  }
  assert.fail(`40 times Tab did not lead to ${locator}`);
}

/** Goes through a whole page, and checks each focused element. */
async function walk(page, path) {
  await page.goto(path);
  let last;
  for (let steps = 0; steps < 60; steps += 1) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(() => document.activeElement === document.body ? null : document.activeElement.outerHTML);
    if (here === null) break;
    await seen(page);
    last = here;
  }
  assert.ok(last, `${path} has nothing to stop at`);
}

export async function journey(stage) {
  const files = folder({ 'a.txt': 'a' });
  const server = await stage.with(Server.files(files, '--ask', 'destructive'));
  const page = await stage.operator(server);
  await page.keyboard.press('Tab');
  await focused(page.locator('.skip'));
  await seen(page);
  await page.keyboard.press('Enter');
  await focused(page.locator('main'));

  await page.keyboard.press('?');
  const sheet = page.locator('#shortcuts');
  await sheet.waitFor();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'hidden' });
  await page.keyboard.press('/');
  await focused(at(page, 'search'));
  await seen(page);
  // In a field, a key enters a letter.
  await page.keyboard.type('make?');
  assert.equal(await at(page, 'search').inputValue(), 'make?');
  assert.ok(await sheet.isHidden());
  await page.keyboard.press('Backspace');
  await until('one is left', async () => (await page.locator('[data-testid=tool]:visible').count()) === 1);
  await page.keyboard.press('ArrowDown');
  await focused(page.locator('[data-testid=tool]:visible'));
  await seen(page);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/ui/tools/make_folder');
  await tabTo(page, control(page, 'path'));
  await page.keyboard.type('made/by/keys');
  await tabTo(page, at(page, 'call'));
  await page.keyboard.press('Enter');
  await becomes(at(page, 'result'), 'data-state', 'ok');
  await focused(page.locator('#outcome-title'));
  assert.ok(existsSync(join(files, 'made/by/keys')));

  // Ctrl+Enter calls from a field. Escape closes the dialog and returns the focus to the field.
  await page.goto(`${server.origin}/ui/tools/manage_files#args=${encodeURIComponent('{"path":"a.txt","action":"delete"}')}`);
  await becomes(at(page, 'foresight'), 'data-state', 'exact');
  await control(page, 'path').focus();
  await page.keyboard.press('Control+Enter');
  await focused(at(page, 'confirm-cancel'));
  await seen(page);
  await page.keyboard.press('Escape');
  await at(page, 'confirm').waitFor({ state: 'hidden' });
  await focused(control(page, 'path'));

  for (const [key, path] of [['t', '/ui/tools'], ['h', '/ui/history'], ['r', '/ui/resources'], ['s', '/ui/server'], ['a', '/ui/approvals']]) {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForURL(`${server.origin}${path}`);
    await page.locator('main h1').waitFor();
  }
  for (const path of ['/', '/ui/tools/manage_files', '/ui/approvals', '/ui/history', '/ui/resources', '/ui/server']) {
    await walk(page, server.origin + path);
  }
}
