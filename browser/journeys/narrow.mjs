// A narrow screen, such as a telephone: nothing has to be pushed sideways, and everything can be reached.
import assert from 'node:assert/strict';
import { Server } from '../servers.mjs';
import { at, becomes, says } from '../stage.mjs';
import { furnished, pages, visit } from '../tour.mjs';

export const title = '400 pixels are wide enough for every page';

const WIDTH = 400;

/** What sticks out at the side, unless it stands in something that scrolls by itself. */
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

async function fits(page, name) {
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.ok(wide <= WIDTH, `${name} is ${wide} wide`);
  assert.deepEqual(await page.evaluate(sticksOut, WIDTH), [], name);
}

/** Texts without an end, and a form as deep as they get. */
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

export async function journey(stage) {
  const viewport = { width: WIDTH, height: 800 };
  await long(stage, viewport);
  const tour = await furnished(stage);
  const visitors = { operator: await stage.operator(tour.server, { viewport }), stranger: await stage.stranger({ viewport }) };
  for (const stop of pages(tour)) {
    const page = await visit(tour.server, visitors, stop);
    await fits(page, stop.name);
  }
  // A decision can be made here.
  const page = visitors.operator;
  await page.goto(`${tour.server.origin}/ui/approvals`);
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  await at(page, 'nothing-waits').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  await says(page.locator('h1'), 'History');
}
