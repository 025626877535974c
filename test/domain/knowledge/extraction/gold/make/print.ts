/** Prints a page of HTML as PDF, as a browser does. Arguments: the page, the PDF. `CHROMIUM` names the program. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [source = '', target = ''] = process.argv.slice(2);
const program = process.env['CHROMIUM'] ?? 'chromium';
const browser = await chromium.launch({
  executablePath: program,
  args: ['--no-sandbox', '--disable-gpu'],
  env: { ...process.env, LD_LIBRARY_PATH: path.join(path.dirname(program), 'lib') },
});
const page = await browser.newPage();
await page.goto(pathToFileURL(source).href);
await page.pdf({ path: target, tagged: true });
await browser.close();
