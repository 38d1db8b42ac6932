// A narrow screen, such as a phone: no page scrolls sideways, and everything is reachable.
import assert from 'node:assert/strict';
import { Server } from '../servers.mjs';
import { at, becomes, says } from '../stage.mjs';
import { furnished, pages, visit } from '../tour.mjs';

export const title = 'every page fits 375 pixels, and no short word is broken';

const WIDTH = 375;

/** Returns the elements that stick out at the side, unless a scrollable element contains them. */
function sticksOut(width) {
  const scrolls = (element) => {
    for (let up = element.parentElement; up; up = up.parentElement) {
      if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(up).overflowX)) return true;
    }
    return false;
  };
  return [...document.querySelectorAll('a, button, input, select, textarea, summary, h1, h2, p, pre')]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.matches('.unseen, .skip'))
    .filter((element) => { const { left, right } = element.getBoundingClientRect(); return (right > width + 0.5 || left < -0.5) && !scrolls(element); })
    .map((element) => element.outerHTML.slice(0, 160));
}

/** Returns short words that are broken into two lines, and our tables that are wider than the screen. */
function torn(width) {
  const found = [...document.querySelectorAll('.history, .outline')].filter((table) => table.getBoundingClientRect().right > width).map((table) => table.className);
  const walker = document.createTreeWalker(document.querySelector('body'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const place = node.parentElement.closest('label, th, td, button, dt, dd, h1, h2, .who');
    if (!place || !place.checkVisibility() || place.closest('.unseen, pre')) continue;
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      if (word.length > 14) continue;
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width).map(({ top }) => Math.round(top)));
      // A word may break at a hyphen or a slash.
      if (lines.size > 1 && /^\w+$/.test(word)) found.push(`${word} in ${place.outerHTML.slice(0, 120)}`);
    }
  }
  return found;
}

async function fits(page, name) {
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.ok(wide <= WIDTH, `${name} is ${wide} wide`);
  assert.deepEqual(await page.evaluate(sticksOut, WIDTH), [], name);
}

/** Very long texts, and a deeply nested form. */
async function long(stage, viewport) {
  const server = await stage.with(Server.trial());
  const page = await stage.operator(server, { viewport });
  server.call('asks', { text: 'x'.repeat(3000), ['y'.repeat(300)]: 'z/'.repeat(200) }, { client: { name: 'w'.repeat(200), version: '1' } });
  await server.waiting();
  const order = { customer: { name: 'Ada', address: { city: 'x'.repeat(200) } }, payment: { kind: 'card', number: '1' },
    lines: [{ article: 'lamp', count: 1, options: ['gift'] }], labels: { ['l'.repeat(100)]: 'v' } };
  const given = encodeURIComponent(JSON.stringify(order));
  for (const path of ['/', '/ui/tools/large', '/ui/tools/strange_schema', `/ui/tools/place_order#args=${given}`, '/ui/approvals', '/ui/history', '/ui/server']) {
    await page.goto(server.origin + path);
    if (path.startsWith('/ui/tools')) {
      await at(page, 'call').click();
      await becomes(at(page, 'result'), 'data-state', 'ok');
    }
    await page.locator('details').evaluateAll((all) => all.forEach((one) => { one.open = true; }));
    await fits(page, path);
  }
}

/** The details of a selected item scroll into view, even if the tree fills the screen. */
async function chosen(page, server) {
  await page.setViewportSize({ width: WIDTH, height: 300 });
  await page.goto(`${server.origin}/ui/resources`);
  await at(page, 'tree').getByText('README.md').click();
  await becomes(at(page, 'resource'), 'data-state', 'known');
  const top = await at(page, 'resource').evaluate((about) => about.getBoundingClientRect().top);
  assert.ok(top < 200, `it begins at ${top}`);
  await page.setViewportSize({ width: WIDTH, height: 800 });
}

export async function journey(stage) {
  const viewport = { width: WIDTH, height: 800 };
  await long(stage, viewport);
  const tour = await furnished(stage);
  const visitors = { operator: await stage.operator(tour.server, { viewport }), stranger: await stage.stranger({ viewport }) };
  for (const stop of pages(tour)) {
    const page = await visit(tour.server, visitors, stop);
    await fits(page, stop.name);
    assert.deepEqual(await page.evaluate(torn, WIDTH), [], stop.name);
    if (stop.name !== 'login' && stop.name !== 'approvals') continue;
    await page.setViewportSize({ width: 1280, height: 800 });
    assert.deepEqual(await page.evaluate(torn, 1280), [], `${stop.name}, on a wide screen`);
    await page.setViewportSize(viewport);
  }
  await chosen(visitors.operator, tour.server);
  // The operator can review requests on a narrow screen.
  const page = visitors.operator;
  await page.goto(`${tour.server.origin}/ui/approvals`);
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  await at(page, 'nothing-waits').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  await says(page.locator('h1'), 'History');
}
