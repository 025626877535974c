import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import { Secret } from '../../../platform/core/secret.ts';
import { newId } from '../../../platform/core/ids.ts';
import { createSmtpSender, smtpConnections } from '../../../platform/infra/smtp/smtp.ts';
import { withTimersStopped } from '../../toolkit/fakes/timers.ts';

const second = 1_000;

/** Works even if a test replaces the timers. */
const setTimeoutForReal = setTimeout;

/** This server answers a message with a reply that never ends. */
async function startTalkativeServer(): Promise<{
  port: number;
  /** Resolves when this number of messages has arrived completely. */
  messages(count: number): Promise<void>;
  close(): void;
}> {
  const arrivals = new EventEmitter();
  let arrived = 0;
  const open = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.write('220 ready\r\n');
    let inMessage = false;
    let message = '';
    socket.on('data', (chunk) => {
      const text = chunk.toString();
      if (inMessage) message += text;
      if (message.endsWith('\r\n.\r\n')) {
        const line = setInterval(() => socket.write('250-just a moment\r\n'), 20);
        socket.on('close', () => clearInterval(line));
        message = '';
        setTimeoutForReal(() => {
          arrived += 1;
          arrivals.emit('message');
        }, 100);
      } else if (text.startsWith('DATA')) {
        inMessage = true;
        socket.write('354 go on\r\n');
      } else if (!inMessage) socket.write('250 fine\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as net.AddressInfo).port,
    async messages(count) {
      while (arrived < count) await once(arrivals, 'message');
    },
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

describe('sending over SMTP', () => {
  it('fails a message after 45 s, however slowly the server answers', async () => {
    const server = await startTalkativeServer();
    const smtp = createSmtpSender({
      smtpUrl: new Secret(`smtp://127.0.0.1:${server.port}`),
      from: 'Club Learning <no-reply@example.com>',
    });
    try {
      await withTimersStopped(async (advance) => {
        let outcome: unknown = 'under way';
        const mail = { to: 'somebody@example.com', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' };
        smtp.sendMail({ ...mail, messageKey: newId() }).then(
          () => (outcome = 'sent'),
          (error: unknown) => (outcome = error),
        );
        await server.messages(1);
        await advance(45 * second - 1);
        expect(outcome).to.equal('under way');
        await advance(1);
        expect(outcome).to.be.an.instanceOf(Error).and.to.include({ code: 'ETIMEDOUT' });
      });
    } finally {
      smtp.close();
      server.close();
    }
  });

  it('releases the connections of messages that timed out', async () => {
    const server = await startTalkativeServer();
    const smtp = createSmtpSender({
      smtpUrl: new Secret(`smtp://127.0.0.1:${server.port}`),
      from: 'Club Learning <no-reply@example.com>',
    });
    const mail = { to: 'somebody@example.com', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' };
    try {
      await withTimersStopped(async (advance) => {
        const send = () => smtp.sendMail({ ...mail, messageKey: newId() }).catch((error: unknown) => error);
        const stuck = Array.from({ length: smtpConnections }, send);
        await server.messages(smtpConnections);
        await advance(45 * second);
        await Promise.all(stuck);
        const next = send();
        await server.messages(smtpConnections + 1);
        await advance(45 * second);
        expect(await next).to.include({ code: 'ETIMEDOUT' });
      });
    } finally {
      smtp.close();
      server.close();
    }
  });
});
