// A narrow screen, such as a telephone: nothing has to be pushed sideways, and everything can be reached.
import assert from 'node:assert/strict';
import { at, says } from '../stage.mjs';
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

export async function journey(stage) {
  const tour = await furnished(stage);
  const viewport = { width: WIDTH, height: 800 };
  const visitors = { operator: await stage.operator(tour.server, { viewport }), stranger: await stage.stranger({ viewport }) };
  for (const stop of pages(tour)) {
    const page = await visit(tour.server, visitors, stop);
    const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(wide <= WIDTH, `${stop.name} is ${wide} wide`);
    assert.deepEqual(await page.evaluate(sticksOut, WIDTH), [], stop.name);
  }
  // A decision can be made here.
  const page = visitors.operator;
  await page.goto(`${tour.server.origin}/ui/approvals`);
  await at(page, 'question').getByRole('button', { name: 'Deny', exact: true }).click();
  await at(page, 'nothing-waits').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  await says(page.locator('h1'), 'History');
}
