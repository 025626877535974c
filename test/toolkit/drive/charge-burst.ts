/**
 * A process that charges one budget of the rate limiter many times simultaneously, and prints the number of allowed calls. Its arguments
 * are url, counter, limit and calls.
 */
import { Secret } from '../../../platform/core/secret.ts';
import { createLimiter } from '../../../api/rate-limits/limiter.ts';

const masterKey = new Secret(Buffer.alloc(32, 7));
const [url = '', counter = '', limit, calls] = process.argv.slice(2);
const limiter = createLimiter({
  url: new Secret(url),
  masterKey,
  clock: Date.now,
  onFailure: () => undefined,
  deadlineMs: 10_000,
});
await limiter.ready();
const budget = { counter, limit: Number(limit), windowSeconds: 60, scope: 'ip' } as const;
const verdicts = await Promise.all(
  Array.from({ length: Number(calls) }, () => limiter.charge(budget, 'one subject', 0)),
);
await limiter.close();
process.stdout.write(String(verdicts.filter(({ allowed }) => allowed).length));
