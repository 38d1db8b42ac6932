// The resources of a journey: pages of one browser, in a profile of its own, and pictures if the journey fails.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.mjs';

/** The time limit of every action of a page. */
const PATIENCE = 20_000;

export class Stage {
  #browser;
  #name;
  #contexts = [];
  servers = [];

  constructor(browser, name) {
    this.#browser = browser;
    this.#name = name;
  }

  /** Waits for a server to start, and stops it at the end of the journey. */
  async with(starting) {
    const server = await starting;
    this.servers.push(server);
    return server;
  }

  /** Opens a browser that is not logged in, with one page. */
  async stranger(options = {}) {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    this.#contexts.push(context);
    // For all pages, including those that another page opens, and those that close before the end.
    context.wrongs = [];
    context.on('weberror', (wrong) => context.wrongs.push(`error in the page: ${wrong.error().stack ?? wrong.error()}`));
    context.on('dialog', (dialog) => { context.wrongs.push(`a dialog: ${dialog.message()}`); dialog.dismiss().catch(() => {}); });
    return context.newPage();
  }

  /** Opens a browser that logs in with the server's link. */
  async operator(server, options) {
    const page = await this.stranger(options);
    await page.goto(server.link);
    await page.locator('body[data-operator=true]').waitFor();
    return page;
  }

  /** Takes pictures of all pages, and returns their paths. */
  async pictures(folder) {
    mkdirSync(folder, { recursive: true });
    const paths = [];
    for (const page of this.#contexts.flatMap((context) => context.pages())) {
      const path = join(folder, `${this.#name}-${paths.length + 1}.png`);
      if (await page.screenshot({ path, timeout: 5000 }).catch(() => undefined)) paths.push(path);
    }
    return paths;
  }

  /** Fails if a script of a page failed. */
  judge() {
    assert.deepEqual(this.#contexts.flatMap((context) => context.wrongs), []);
  }

  async close() {
    await Promise.all(this.#contexts.map((context) => within(CLOSING, context.close())));
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

/** Chromium sometimes never answers a request to close. */
const CLOSING = 10_000;

/** Waits for a promise, at most this long, and ignores its result. */
export async function within(time, end) {
  let timer;
  await Promise.race([end.catch(() => {}), new Promise((late) => { timer = setTimeout(late, time); })]);
  clearTimeout(timer);
}

/** Finds an element by its `data-testid`. */
export const at = (page, id) => page.locator(`[data-testid="${id}"]`);

/** Waits until an attribute of one element has this value. */
export async function becomes(locator, attribute, wanted) {
  let is;
  try {
    await until('', async () => (is = await locator.getAttribute(attribute)) === wanted, PATIENCE);
  } catch {
    assert.equal(is, wanted, `${locator} ${attribute}`);
  }
}

/** Waits until the element contains a text, or matches an expression. */
export async function says(locator, wanted) {
  const fits = (is) => (wanted instanceof RegExp ? wanted.test(is) : is.includes(wanted));
  let is = '';
  try {
    await until('', async () => fits(is = (await locator.allInnerTexts()).join('\n')), PATIENCE);
  } catch {
    assert.fail(`${locator} says ${JSON.stringify(is.slice(0, 500))}, not ${wanted}`);
  }
}

/** Waits until this element has the focus. */
export async function focused(locator) {
  const has = () => locator.evaluate((element) => element === document.activeElement);
  const who = () => locator.page().evaluate(() => document.activeElement?.outerHTML.slice(0, 200));
  await until('', has, PATIENCE).catch(async () => assert.fail(`${locator} has no focus; it is at ${await who()}`));
}

/** Finds the field of a form by the names on its path. */
export const field = (page, ...names) =>
  page.locator(['#fields', ...names.map((name) => `[data-name="${name}"]`)].join(' '));

/** Finds the control of the field. */
export const control = (page, ...names) => field(page, ...names).locator('[data-control]');
