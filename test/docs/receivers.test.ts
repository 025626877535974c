/** Tests the example receivers with messages that are signed like the service's messages (SIG-1 to SIG-3). */
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from '../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../domain/webhooks/endpoints/secrets.ts';
import {
  examples,
  examplesDirectory,
  startExample,
  whyMissing,
  type RunningExample,
} from '../toolkit/stack/example-receiver.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

type Headers = Readonly<Record<string, string>>;

const minute = 60_000;

/** Returns a message as the service sends it, with `data` in its body. */
function message(data: object = {}): { id: string; body: string } {
  const id = randomUUID();
  const occurredAt = new Date().toISOString();
  return {
    id,
    body: JSON.stringify({ id, type: 'student.updated', occurred_at: occurredAt, club_id: randomUUID(), data }),
  };
}

for (const example of examples) {
  const missing = whyMissing(example);

  describe(`docs/examples/receivers/${example.file}`, function () {
    this.timeout(20_000);
    if (missing !== undefined) {
      it.skip(`is not run: ${missing}`);
      return;
    }

    const secret = newSecret();
    let receiver: RunningExample;
    before(async function () {
      this.timeout(180_000);
      receiver = await startExample(example, secret);
    });
    after(() => receiver.stop());

    const post = async (body: string | Buffer, headers: Headers, method = 'POST'): Promise<number> => {
      const init = { method, headers: { 'content-type': 'application/json', ...headers } };
      const response = await fetch(receiver.url, method === 'GET' ? init : { ...init, body });
      await response.arrayBuffer();
      return response.status;
    };
    const sign = (id: string, body: string | Buffer, secrets = [secret], at = Date.now()): Headers => ({
      ...signatureHeaders({ eventId: id, body, secrets, at }),
    });
    const send = ({ id, body }: { id: string; body: string }, secrets = [secret], at = Date.now()) =>
      post(body, sign(id, body, secrets, at));
    /** Waits until the receiver has handled all earlier messages, and returns how often it handled this message. */
    const timesHandled = async (id: string): Promise<number> => {
      const last = message();
      expect(await send(last)).to.equal(204);
      await receiver.untilHandled(last.id);
      return receiver.timesHandled(id);
    };
    const expectRefused = async (status: number, id: string): Promise<void> => {
      expect(status).to.be.within(400, 499);
      expect(await timesHandled(id)).to.equal(0);
    };

    it('accepts a genuine message and handles it', async () => {
      const posted = message();
      expect(await send(posted)).to.equal(204);
      await receiver.untilHandled(posted.id);
    });

    it('accepts messages that the Standard Webhooks library signs', async () => {
      const { id, body } = message();
      const at = new Date();
      const status = await post(body, {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': new Webhook(secret).sign(id, at, body),
      });
      expect(status).to.equal(204);
      expect(await timesHandled(id)).to.equal(1);
    });

    it('accepts a message with two signatures if the first or the second has the receiver’s secret', async () => {
      expect(await send(message(), [newSecret(), secret])).to.equal(204);
      expect(await send(message(), [secret, newSecret()])).to.equal(204);
    });

    it('ignores signatures of unknown versions', async () => {
      const { id, body } = message();
      const headers = sign(id, body);
      const signature = headers['webhook-signature'] ?? '';
      const unknown = signature.replace('v1,', 'v2,');
      await expectRefused(await post(body, { ...headers, 'webhook-signature': unknown }), id);
      expect(await post(body, { ...headers, 'webhook-signature': `${unknown} ${signature}` })).to.equal(204);
    });

    it('answers a duplicate with 2xx and handles the message once, even if both arrive simultaneously', async () => {
      const posted = message();
      expect(await send(posted)).to.equal(204);
      expect(await send(posted, [secret], Date.now() + 1_000)).to.equal(204);
      expect(await timesHandled(posted.id)).to.equal(1);
      const doubled = message();
      const statuses = await Promise.all(Array.from({ length: 8 }, () => send(doubled)));
      expect(statuses).to.deep.equal(Array.from({ length: 8 }, () => 204));
      expect(await timesHandled(doubled.id)).to.equal(1);
    });

    it('verifies the raw bytes of any body, even of 200 KB', async () => {
      const id = randomUUID();
      const spaced = `{ "type":"student.updated",\n  "id" : "${id}", "data":{"name":"Zo\\u00eb 学生 🎓"} }\n`;
      expect(await post(Buffer.from(spaced), sign(id, spaced))).to.equal(204);
      expect(await timesHandled(id)).to.equal(1);
      const large = message({ name: 'é学🎓'.repeat(25_000) });
      expect(Buffer.byteLength(large.body)).to.be.above(200_000);
      expect(await send(large)).to.equal(204);
      expect(await timesHandled(large.id)).to.equal(1);
    });

    it('refuses an altered body', async () => {
      const { id, body } = message({ points: 10 });
      await expectRefused(await post(body.replace('10', '99'), sign(id, body)), id);
    });

    it('refuses a message if its id or timestamp differs from the signed values', async () => {
      const { id, body } = message();
      const headers = sign(id, body);
      const other = randomUUID();
      await expectRefused(await post(body, { ...headers, 'webhook-id': other }), other);
      const later = String(Number(headers['webhook-timestamp']) + 1);
      await expectRefused(await post(body, { ...headers, 'webhook-timestamp': later }), id);
    });

    it('refuses a message that is signed with a different secret', async () => {
      const posted = message();
      await expectRefused(await send(posted, [newSecret()]), posted.id);
    });

    it('refuses a timestamp more than 5 minutes from its clock, in either direction', async () => {
      await eachCase([-6 * minute, 6 * minute], async (away) => {
        const posted = message();
        await expectRefused(await send(posted, [secret], Date.now() + away), posted.id);
      });
      await eachCase([-4 * minute, 4 * minute], async (away) =>
        expect(await send(message(), [secret], Date.now() + away)).to.equal(204),
      );
    });

    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      it(`refuses a message without ${name}`, async () => {
        const { id, body } = message();
        const { [name]: _, ...others } = sign(id, body);
        await expectRefused(await post(body, others), id);
      });
    }

    it('refuses a signed message with an empty webhook-id', async () => {
      const { id, body } = message();
      await expectRefused(await post(body, sign('', body)), id);
    });

    it('refuses malformed headers', async () => {
      const { id, body } = message();
      const headers = sign(id, body);
      const now = headers['webhook-timestamp'] ?? '';
      const garbage = ['', 'v1', 'v1,', 'v1,=', 'v1,é', 'v1,AAAA', ' ', now].map((value) => ({
        'webhook-signature': value,
      }));
      const times = ['soon', `${now}.5`, `-${now}`, '1e9', '9'.repeat(40)].map((value) => ({
        'webhook-timestamp': value,
      }));
      for (const wrong of [...garbage, ...times]) {
        expect(await post(body, { ...headers, ...wrong }), JSON.stringify(wrong)).to.be.within(400, 499);
      }
      expect(await timesHandled(id)).to.equal(0);
    });

    it('accepts a genuine message after it refused a false message with the same id', async () => {
      const posted = message();
      await expectRefused(await send(posted, [newSecret()]), posted.id);
      expect(await send(posted)).to.equal(204);
      expect(await timesHandled(posted.id)).to.equal(1);
    });

    it('refuses invalid JSON and methods other than POST, and continues', async () => {
      const id = randomUUID();
      await expectRefused(await post('not json', sign(id, 'not json')), id);
      expect(await post('', {}, 'GET')).to.equal(405);
      expect(await send(message())).to.equal(204);
    });

    it('refuses a body over 1 MB, and continues', async () => {
      const posted = message({ name: 'x'.repeat(1_100_000) });
      // A receiver that stops reading may close the connection before the client reads its answer.
      const status = await send(posted).catch((error: Error & { cause?: { code?: string } }) => {
        expect(error.cause?.code).to.be.oneOf(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
        return 413;
      });
      await expectRefused(status, posted.id);
      expect(await send(message())).to.equal(204);
    });

    it('accepts messages from send.mjs, and refuses them if the secret differs', async () => {
      const run = async (withSecret: string): Promise<{ code: number | null; printed: string }> => {
        const child = spawn(process.execPath, [path.join(examplesDirectory, 'send.mjs'), receiver.url], {
          env: { WEBHOOK_SECRET: withSecret },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let printed = '';
        child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
        await once(child, 'close');
        return { code: child.exitCode, printed };
      };
      expect(await run(secret)).to.deep.equal({ code: 0, printed: '204\n' });
      expect(await run(newSecret())).to.deep.equal({ code: 1, printed: '401\n' });
    });

    it('does not start without a secret', async () => {
      const outcome = await startExample(example, 'secret').then(
        async (running) => `it listens, and ends with ${await running.stop()}`,
        (error: unknown) => String(error),
      );
      expect(outcome).to.include('WEBHOOK_SECRET must be the secret');
    });
  });
}
