/** Starts a real IMAP server with an empty mailbox, which the library go-imap provides. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import { locate } from '../../../dev/components.ts';
import { imapServer } from '../../../dev/components/catalogue.ts';
import { freePorts } from '../../../dev/stack/ports.ts';
import type { Certificate } from '../../../dev/stack/certificates.ts';
import { Secret } from '../../../platform/core/secret.ts';

const [user, password] = ['bounces@mail.example.com', 'p@ss/word'];

export interface ImapServer {
  port: number;
  /** The address contains the user and the password. */
  url: Secret;
  /** Stores messages as unread. */
  append(...messages: readonly string[]): Promise<void>;
  /** @returns the subject of each message, and whether it is read */
  messages(): Promise<{ uid: number; subject: string; isRead: boolean }[]>;
  close(): Promise<void>;
}

/** @param certificate the server then offers STARTTLS, and accepts a password only over TLS; the caller trusts its authority */
export async function startImapServer(certificate?: Certificate & { authority: string }): Promise<ImapServer> {
  const program = await locate(imapServer);
  const { port } = await freePorts(['port']);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'imap-'));
  const files = { cert: path.join(directory, 'cert.pem'), key: path.join(directory, 'key.pem') };
  if (certificate) {
    await writeFile(files.cert, certificate.cert);
    await writeFile(files.key, certificate.key);
  }
  const child = spawn(
    program,
    [
      '-listen',
      `127.0.0.1:${port}`,
      '-username',
      user,
      '-password',
      password,
      ...(certificate ? ['-tls-cert', files.cert, '-tls-key', files.key] : ['-insecure-auth']),
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await untilListening(port);
  const asClient = async <T>(work: (client: ImapFlow) => Promise<T>): Promise<T> => {
    const client = new ImapFlow({
      host: 'localhost',
      port,
      secure: false,
      auth: { user, pass: password },
      logger: false,
      disableAutoIdle: true,
      ...(certificate && { tls: { ca: certificate.authority } }),
    });
    await client.connect();
    try {
      await client.mailboxOpen('INBOX');
      return await work(client);
    } finally {
      client.close();
    }
  };
  return {
    port,
    url: new Secret(`imap://${encodeURIComponent(user)}:${encodeURIComponent(password)}@localhost:${port}/INBOX`),
    append: (...messages) =>
      asClient(async (client) => {
        for (const message of messages) await client.append('INBOX', message);
      }),
    messages: () =>
      asClient(async (client) => {
        const found = await client.fetchAll('1:*', { uid: true, flags: true, envelope: true }).catch(() => []);
        return found.map(({ uid, flags, envelope }) => ({
          uid,
          subject: envelope?.subject ?? '',
          isRead: flags?.has('\\Seen') === true,
        }));
      }),
    async close() {
      child.kill();
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const isListening = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (isListening) return;
    await sleep(50);
  }
  throw new Error(`The IMAP server does not listen on port ${port}`);
}
