/** Compares docs/how-to/receive-webhooks.md with the code: its files, the numbers of DEL-1 to DEL-8, and the signature. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { breakerRules } from '../../domain/webhooks/endpoints/breaker.policy.ts';
import { deliveryRules } from '../../domain/webhooks/deliveries/schedule.policy.ts';
import { signatureHeaders } from '../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../domain/webhooks/endpoints/secrets.ts';
import { examplesDirectory } from '../toolkit/stack/example-receiver.ts';

const docs = fileURLToPath(new URL('../../docs/how-to/', import.meta.url));
const page = readFileSync(path.join(docs, 'receive-webhooks.md'), 'utf8');
const exampleText = (file: string) => readFileSync(path.join(examplesDirectory, file), 'utf8');

const unitsMs: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000 };

/** Converts a text such as `30 minutes` to milliseconds. */
function duration(text: string): number {
  const [, count, unit = ''] = /^(\d+) (second|minute|hour)s?$/.exec(text) ?? [];
  return Number(count) * (unitsMs[unit] ?? Number.NaN);
}

describe('docs/how-to/receive-webhooks.md', () => {
  it('contains only code blocks that are part of an example file', () => {
    const blocks = [...page.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
    expect(blocks).to.have.length.above(1);
    const files = readdirSync(examplesDirectory).map(exampleText);
    expect(blocks.filter((block) => !files.some((text) => text.includes(block)))).to.deep.equal([]);
  });

  it('links only to existing files and headings, and to every example file', () => {
    const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(
      ([, heading = '']) =>
        `#${heading
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-')}`,
    );
    const isThere = (target: string) =>
      target.startsWith('https:') ||
      (target.startsWith('#') ? anchors.includes(target) : existsSync(path.join(docs, target)));
    expect(links.filter((target) => !isThere(target))).to.deep.equal([]);
    const files = readdirSync(examplesDirectory).map((file) => `../examples/receivers/${file}`);
    expect(links).to.include.members(files);
  });

  it('contains the table of attempts that rule DEL-3 states', () => {
    const rows = [...page.matchAll(/^\| (\d+) \| (.*?)\| .*\|$/gm)];
    expect(rows.map(([, attempt]) => Number(attempt))).to.deep.equal(
      Array.from({ length: deliveryRules.attempts }, (_, index) => index + 1),
    );
    const waits = rows.slice(1).map(([, , wait = '']) => duration(wait.trim()));
    expect(waits).to.deep.equal([...deliveryRules.waitsMs]);
  });

  it('states the limits of DEL-1, DEL-2, DEL-3 and DEL-8', () => {
    expect(page).to.include(`**${deliveryRules.attemptTimeLimitMs / 1_000} seconds** means accepted`);
    expect(page).to.include(`up to **${deliveryRules.retryAfterLimitSeconds / 3_600} hours**`);
    expect(page).to.include(`Each wait varies by plus or minus ${deliveryRules.jitter * 100} %`);
    expect(page).to.include(`pending for more than ${deliveryRules.expiryMs / 86_400_000} days is canceled`);
    expect(page).to.include(`The service stores the first ${deliveryRules.excerptBytes / 1_024} KB of your response`);
  });

  it('states the numbers of the circuit breaker', () => {
    const { failuresToArm, firstHoldMs, longestHoldMs, failingMs } = breakerRules;
    expect(page).to.include(`After ${failuresToArm} failures in a row`);
    expect(page).to.include(
      `starts at ${firstHoldMs / 60_000} minute and doubles up to ${longestHoldMs / 3_600_000} hour;`,
    );
    expect(page).to.include(`failing for **${failingMs / 86_400_000} days** without an accepted message`);
  });

  it('shows the signature that the service would give the example message', () => {
    const { secret, headers, body } = JSON.parse(exampleText('signed-message.json')) as {
      secret: string;
      headers: Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>;
      body: string;
    };
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    expect(signatureHeaders({ eventId: headers['webhook-id'], body, secrets: [secret], at })).to.deep.equal(headers);
    expect(new Webhook(secret).sign(headers['webhook-id'], at, body)).to.equal(headers['webhook-signature']);
    expect(JSON.parse(body)).to.have.property('id', headers['webhook-id']);
  });

  it('shows a library call that accepts the service’s signatures', async () => {
    const secret = newSecret();
    const before = process.env['WEBHOOK_SECRET'];
    process.env['WEBHOOK_SECRET'] = secret;
    try {
      const { verifiedEvent } = (await import(path.join(examplesDirectory, 'standardwebhooks.mjs'))) as {
        verifiedEvent(rawBody: Buffer, headers: object): unknown;
      };
      const body = Buffer.from(JSON.stringify({ id: 'a', data: { name: 'Zoë 学生 🎓' } }));
      const sign = (secrets: readonly string[]) => signatureHeaders({ eventId: 'a', body, secrets, at: Date.now() });
      expect(verifiedEvent(body, sign([newSecret(), secret]))).to.deep.equal(JSON.parse(body.toString()));
      expect(() => verifiedEvent(body, sign([newSecret()]))).to.throw('No matching signature');
    } finally {
      if (before === undefined) delete process.env['WEBHOOK_SECRET'];
      else process.env['WEBHOOK_SECRET'] = before;
    }
  });
});
