import { expect } from 'chai';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Secret } from '../../../platform/core/secret.ts';
import {
  createSmtpHandOver,
  type HandedMessage,
  type SmtpHandOver,
} from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testStack } from '../../toolkit/stack/stack.ts';
import { readConfig } from '../../../config.ts';
import type { Mailbox } from '../../../dev/mailbox/mailbox.ts';

let messageCount = 0;
const message = (to: string, more: Partial<HandedMessage> = {}): HandedMessage => ({
  envelopeFrom: 'bounces@example.com',
  from: { name: 'Knots & Co', address: 'news@example.com' },
  to,
  replyTo: 'crew@example.com',
  subject: 'A knot – ñ',
  text: 'Ahoy\n.\nafter a lone dot',
  html: '<p>Ahoy</p>',
  messageId: `<${++messageCount}@example.com>`,
  headers: { 'List-Unsubscribe': `<https://example.com/${'x'.repeat(120)}>` },
  ...more,
});

describe('sending an e-mail over SMTP', () => {
  let mailbox: Mailbox;
  let smtp: SmtpHandOver;
  before(async () => {
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('These tests make the mailbox of the stack refuse messages.');
    mailbox = stack.mailbox;
    smtp = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 2 });
  });
  afterEach(() => mailbox.succeed());
  after(() => smtp.close());

  it('reports “accepted” when the server has the whole message', async () => {
    const first = message('ada@example.com');
    expect(await smtp.handOver(first)).to.include({ kind: 'accepted' });
    const [found] = (await mailbox.messages({ to: 'ada@example.com' })).filter(
      ({ message_id: id }) => id === first.messageId,
    );
    expect(found).to.include({ from: 'bounces@example.com', subject: first.subject });
    expect(found?.text.trim()).to.equal(first.text);
    expect(found?.headers).to.include({
      'list-unsubscribe': first.headers['List-Unsubscribe'],
      'reply-to': 'crew@example.com',
    });
  });

  for (const [at, reply, expected] of [
    ['rcpt', 550, { kind: 'refused', permanent: true }],
    ['rcpt', 451, { kind: 'refused', permanent: false }],
    ['message', 554, { kind: 'refused', permanent: true }],
    ['message', 452, { kind: 'refused', permanent: false }],
  ] as const) {
    it(`reports ${expected.permanent ? 'a permanent' : 'a temporary'} refusal after ${reply} to ${at}, without an address`, async () => {
      mailbox.failNext({ at, reply, to: 'bob@example.com' });
      const answer = await smtp.handOver(message('bob@example.com'));
      expect(answer).to.include(expected);
      expect(JSON.stringify(answer)).not.to.contain('bob@');
    });
  }

  it('reports “not sent” if no server listens', async () => {
    const nobody = createSmtpHandOver({ smtpUrl: new Secret('smtp://127.0.0.1:1'), connections: 1 });
    expect(await nobody.handOver(message('ada@example.com'))).to.include({ kind: 'not_sent' });
    nobody.close();
  });

  it('reports a temporary refusal if the server refuses the connection', async () => {
    const busy = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 1 });
    mailbox.failNext({ at: 'connect', reply: 554 });
    expect(await busy.handOver(message('ada@example.com'))).to.include({ kind: 'refused', permanent: false });
    busy.close();
  });

  it('reports “not sent” if the message cannot be composed', async () => {
    const broken = message('ada@example.com');
    Object.defineProperty(broken, 'html', {
      get: () => {
        throw new Error('no text');
      },
    });
    expect(await smtp.handOver(broken)).to.deep.equal({ kind: 'not_sent', reply: 'not_composed' });
  });

  it('aborts a message that takes too long', async () => {
    const received: Buffer[] = [];
    const ended = Promise.withResolvers<void>();
    let stalled: Socket | undefined;
    const limit = new AbortController();
    const server = createServer((socket) => {
      socket.on('error', () => undefined).on('close', () => ended.resolve());
      socket.write('220 ready\r\n');
      socket.on('data', (bytes) => {
        if (stalled) return void received.push(bytes);
        if (!bytes.toString().startsWith('DATA')) return void socket.write('250 ok\r\n');
        stalled = socket.pause();
        socket.write('354 go on\r\n', () => setImmediate(() => limit.abort()));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const slow = createSmtpHandOver({
      smtpUrl: new Secret(`smtp://127.0.0.1:${port}`),
      connections: 1,
      limit: limit.signal,
    });
    const answer = await slow.handOver(message('ada@example.com', { html: 'x'.repeat(8_000_000) }));
    expect(answer).to.include({ kind: 'not_sent' });
    stalled?.resume();
    await ended.promise;
    expect(Buffer.concat(received).includes('\r\n.\r\n')).to.equal(false);
    slow.close();
    server.close();
  });

  describe('if the server closes the connection', () => {
    let server: Server;
    let cutAfterBytes: number;
    let sockets: Socket[] = [];
    let cutting: SmtpHandOver;
    before((done) => {
      server = createServer((socket) => {
        sockets.push(socket);
        socket.on('error', () => undefined);
        let inData = 0;
        socket.write('220 ready\r\n');
        socket.on('data', (bytes) => {
          if (inData > 0) {
            inData += bytes.length;
            if (inData > cutAfterBytes) socket.resetAndDestroy();
          } else if (bytes.toString().startsWith('DATA')) {
            inData = 1;
            if (cutAfterBytes === 0) socket.resetAndDestroy();
            else socket.write('354 go on\r\n');
          } else socket.write('250 ok\r\n');
        });
      }).listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        cutting = createSmtpHandOver({ smtpUrl: new Secret(`smtp://127.0.0.1:${port}`), connections: 1 });
        done();
      });
    });
    after((done) => {
      cutting.close();
      for (const socket of sockets) socket.destroy();
      sockets = [];
      server.close(() => done());
    });

    const large = { html: `<p>${'x'.repeat(8_000_000)}</p>` };

    it('reports “not sent” before the message', async () => {
      cutAfterBytes = 0;
      expect(await cutting.handOver(message('ada@example.com'))).to.include({ kind: 'not_sent' });
    });

    it('reports “not sent” in the middle of the message', async () => {
      cutAfterBytes = 1_000;
      expect(await cutting.handOver(message('ada@example.com', large))).to.include({ kind: 'not_sent' });
    });

    it('reports “unknown” after the last byte', async () => {
      cutAfterBytes = 200;
      expect(await cutting.handOver(message('ada@example.com'))).to.deep.equal({ kind: 'unknown' });
    });
  });

  it('stops waiting for a free connection at the time limit', async () => {
    const ends: (() => void)[] = [];
    const hang = () => smtp.onConnection(() => new Promise<void>((resolve) => ends.push(resolve)));
    const hanging = [hang(), hang()];
    expect(await smtp.onConnectionWithin(1, async () => 'done')).to.equal(undefined);
    const later = smtp.onConnectionWithin(5_000, async () => 'done');
    ends[0]?.();
    expect(await later).to.equal('done');
    ends[1]?.();
    await Promise.all(hanging);
    expect(await Promise.all([1, 2].map(() => smtp.onConnectionWithin(1, async () => 'done')))).to.deep.equal([
      'done',
      'done',
    ]);
  });

  it('sends one message at a time for each connection, in order', async () => {
    const events: string[] = [];
    const ends: (() => void)[] = [];
    const untilStarted = (count: number) =>
      until(`work ${count}`, { timeoutMs: 5_000 }, async () => ends.length === count);
    const works = [0, 1, 2, 3].map((number) =>
      smtp.onConnection(async () => {
        events.push(`begins ${number}`);
        await new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    await untilStarted(2);
    expect(events).to.deep.equal(['begins 0', 'begins 1']);
    ends[1]?.();
    await untilStarted(3);
    ends[0]?.();
    await untilStarted(4);
    expect(events).to.deep.equal(['begins 0', 'begins 1', 'begins 2', 'begins 3']);
    for (const end of ends) end();
    await Promise.all(works);
  });
});
