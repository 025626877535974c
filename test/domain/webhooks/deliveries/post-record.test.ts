import { expect } from 'chai';
import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import { attemptRows, deliveryRow } from '../../../toolkit/assert/webhooks.ts';
import { buildWebhookDelivery, buildSubscription } from '../../../toolkit/builders/webhooks.ts';
import { testStack } from '../../../toolkit/stack/stack.ts';
import {
  drip,
  flood,
  respondWith,
  startReceiver,
  type Receiver,
  type Respond,
} from '../../../toolkit/fakes/tls-receiver.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

const respondBody = (status: number, body: Buffer): Respond =>
  respondWith(`HTTP/1.1 ${status} X\r\ncontent-length: ${body.length}\r\n\r\n`, body);

describe('the record of a hostile answer in Postgres', () => {
  const delivering = useDeliveries();
  let receiver: Receiver | undefined;
  afterEach('close the receiver', () => receiver?.stop());

  async function recordOf(respond: Respond) {
    const { authority } = await testStack();
    receiver = await startReceiver(await authority.issue(['127.0.0.1']), respond);
    const delivery = await buildWebhookDelivery(await buildSubscription(`https://127.0.0.1:${receiver.port}/`));
    await attemptDelivery(delivering().deps(), delivery.id, Date.now());
    const [{ status, attemptCount }, attempts] = await Promise.all([
      deliveryRow(delivery.id),
      attemptRows(delivery.id),
    ]);
    expect(attempts).to.have.length(1);
    const [recorded] = attempts;
    return {
      delivery: [status, attemptCount],
      attempt: [recorded?.outcome, recorded?.responseStatus, recorded?.responseExcerpt],
      receiver,
    };
  }

  for (const { what, body, excerpt } of [
    { what: 'NUL between letters', body: Buffer.from('a\0b'), excerpt: 'a\uFFFDb' },
    { what: 'only NUL bytes', body: Buffer.alloc(5_000), excerpt: '\uFFFD'.repeat(682) },
    { what: 'invalid UTF-8', body: Buffer.from([0x61, 0xff, 0xc3, 0x28]), excerpt: 'a\uFFFD\uFFFD(' },
    { what: 'half a surrogate pair', body: Buffer.from([0xed, 0xa0, 0x80]), excerpt: '\uFFFD\uFFFD\uFFFD' },
    {
      what: 'a character that crosses the limit of 2 KB',
      body: Buffer.from(`x${'🎓'.repeat(1_000)}`),
      excerpt: `x${'🎓'.repeat(511)}`,
    },
    { what: 'a JSON escape of NUL', body: Buffer.from('{"a":"\\u0000"}'), excerpt: '{"a":"\\u0000"}' },
  ]) {
    it(`stores ${what} as text`, async () => {
      const { delivery, attempt } = await recordOf(respondBody(200, body));
      expect(delivery).to.deep.equal(['succeeded', 1]);
      expect(attempt).to.deep.equal(['succeeded', 200, excerpt]);
    });
  }

  for (const { what, respond, attempt, delivery } of [
    {
      what: 'the status 600',
      respond: respondBody(600, Buffer.from('no')),
      attempt: ['http_error', 600, 'no'],
      delivery: ['pending', 1],
    },
    {
      what: 'the status 999',
      respond: respondBody(999, Buffer.from('\0')),
      attempt: ['http_error', 999, '\uFFFD'],
      delivery: ['pending', 1],
    },
    {
      what: 'the status 099',
      respond: respondWith('HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n'),
      attempt: ['connection_error', null, null],
      delivery: ['pending', 1],
    },
    {
      what: 'a body of 1 GB',
      respond: ((socket) => {
        socket.write(`HTTP/1.1 500 X\r\ncontent-length: ${2 ** 30}\r\n\r\n`);
        flood(socket, Buffer.alloc(65_536, 'x'));
      }) satisfies Respond,
      attempt: ['http_error', 500, 'x'.repeat(2_048)],
      delivery: ['pending', 1],
    },
    {
      what: 'a 2xx with an endless body that arrives byte by byte',
      respond: ((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\nbegun');
        drip(socket, '\0', 60_000);
      }) satisfies Respond,
      attempt: ['succeeded', 200, 'begun'],
      delivery: ['succeeded', 1],
    },
  ]) {
    it(`stores the outcome of ${what}`, async () => {
      const record = await recordOf(respond);
      expect(record.delivery).to.deep.equal(delivery);
      expect(record.attempt).to.deep.equal(attempt);
      expect(record.receiver.requests).to.have.length(1);
    });
  }
});
