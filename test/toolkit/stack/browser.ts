/** Starts a Chromium for one test file, and opens its pages. Chromium can reach only this machine. */
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';

const startTimeoutMs = 60_000;
/** Widths of screens in CSS pixels: the narrowest supported phone, and a laptop. */
export const widths = { phone: 360, laptop: 1_200 } as const;
const height = 800;

/**
 * Starts Chromium before the tests of a `describe`, and ends Chromium after them. Each page closes at the end of its test. Call this
 * function in the `describe`.
 * @returns a function that opens a page in a separate session, for use inside the tests. If `trustsLocalTls` is true, the page accepts the
 * certificates of servers on this machine
 */
export function useBrowser(): (width: number, options?: { trustsLocalTls?: boolean }) => Promise<Page> {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  before('start Chromium', async function () {
    this.timeout(2 * startTimeoutMs);
    browser = await chromium.launch({
      executablePath: await locate(components.chromium),
      timeout: startTimeoutMs,
      // These settings let Chromium resolve only the names of this machine. Chromium uses no proxy, because a proxy would also resolve
      // other names.
      args: ['--no-proxy-server', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
    });
  });
  afterEach('close the pages', async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });
  after('stop Chromium', () => browser?.close());
  return async (width, { trustsLocalTls = false } = {}) => {
    if (browser === undefined) throw new Error('Chromium runs only during tests');
    const context = await browser.newContext({ viewport: { width, height }, ignoreHTTPSErrors: trustsLocalTls });
    contexts.push(context);
    return context.newPage();
  };
}

/** @returns by how many CSS pixels the page is wider than the screen; 0 if it needs no horizontal scrolling */
export function overhang(page: Pick<Page, 'evaluate'>): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
