/** The mailbox's SMTP side: takes every message, unless a fault was ordered. */
import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import type { Envelope } from './messages.ts';

/** What goes wrong, and where in the conversation. */
export type Fault = (
  | {
      /** `message`: after the final dot, when the sender cannot know the outcome if the connection is cut. */
      readonly at: 'connect' | 'mail' | 'rcpt' | 'message';
      /** An SMTP status such as 451 or 550, or the connection is cut without an answer. */
      readonly reply: number | 'drop';
    }
  /** While the message is on its way, before the final dot. */
  | { readonly at: 'data'; readonly reply: 'drop' }
) & {
  /** How often; once when absent. */
  readonly times?: number;
  /** Only for this recipient; not for `connect` and `mail`, which come before it is known. */
  readonly to?: string;
  /** With `message`: the message is kept all the same, and only its sender does not learn of it. */
  readonly kept?: boolean;
};

/** The server, not yet listening, and the queue of faults that it works off. */
export function mailboxSmtp(accept: (envelope: Envelope, source: Buffer) => Promise<void>) {
  const faults: (Fault & { times: number })[] = [];
  const sockets = new Map<number, Socket>();

  /** The first fault that fits, used up once. */
  const take = (at: Fault['at'], recipients: readonly string[] = []): Fault | undefined => {
    const index = faults.findIndex(
      (fault) => fault.at === at && (fault.to === undefined || recipients.some((to) => sameAddress(to, fault.to))),
    );
    const fault = faults[index];
    if (fault && --fault.times === 0) faults.splice(index, 1);
    return fault;
  };
  const drop = (session: SMTPServerSession) => void sockets.get(session.remotePort)?.destroy();
  const answer = (fault: Fault | undefined, session: SMTPServerSession, done: (error?: Error | null) => void) => {
    if (fault === undefined) done();
    else if (fault.reply === 'drop') drop(session);
    else done(refusal(fault.reply));
  };

  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onAuth: (_auth, _session, done) => done(null, { user: 'anybody' }),
    onConnect: (session, done) => answer(take('connect'), session, done),
    onMailFrom: (_address, session, done) => answer(take('mail'), session, done),
    onRcptTo: (recipient, session, done) => answer(take('rcpt', [recipient.address]), session, done),
    onData(stream, session, done) {
      const envelope = {
        from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
        to: session.envelope.rcptTo.map(({ address }) => address),
      };
      if (take('data', envelope.to)) return drop(session);
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const fault = take('message', envelope.to);
        const kept =
          fault === undefined || fault.kept === true ? accept(envelope, Buffer.concat(chunks)) : Promise.resolve();
        kept.then(() => answer(fault, session, done), done);
      });
    },
  });
  server.server.on('connection', (socket: Socket) => {
    const port = socket.remotePort ?? 0;
    sockets.set(port, socket);
    socket.once('close', () => sockets.delete(port));
  });

  return {
    server,
    faults,
    /** Takes no more connections, and cuts those that senders keep in their pools. */
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets.values()) socket.destroy();
      }),
  };
}

function refusal(status: number): Error {
  return Object.assign(new Error('Refused, because a fault was ordered'), { responseCode: status });
}

function sameAddress(one: string, other: string | undefined): boolean {
  return one.toLowerCase() === other?.toLowerCase();
}
