/** `npm run bench -- webhooks | api`: measures each figure beside its ceiling, in one run, and prints a line a figure. */
import { benchApi } from './api.ts';
import { benchWebhooks } from './webhooks.ts';

const suites = { webhooks: benchWebhooks, api: benchApi };

const [wanted = ''] = process.argv.slice(2);
const suite = Object.entries(suites).find(([name]) => name === wanted)?.[1];
if (suite) await suite();
else {
  process.stderr.write(`Say what to measure: npm run bench -- ${Object.keys(suites).join(' | ')}\n`);
  process.exitCode = 2;
}
