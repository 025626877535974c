/** The SMTP server of the mailbox. It accepts every message, unless a fault is queued. */
import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import type { Envelope } from './messages.ts';

export type Fault = (
  | {
      /** The step of the fault. `message` is after the final dot. If the connection closes there, the sender cannot know the outcome. */
      readonly at: 'connect' | 'mail' | 'rcpt' | 'message';
      /** An SMTP status such as 451 or 550; `drop` cuts the connection without an answer. */
      readonly reply: number | 'drop';
    }
  /** Cuts the connection during the message, before the final dot. */
  | { readonly at: 'data'; readonly reply: 'drop' }
) & {
  /** The number of uses; 1 if absent. */
  readonly times?: number;
  /** Only for this recipient. No effect for `connect` and `mail`, when the recipient is not known yet. */
  readonly to?: string;
  /** Stores the message in spite of a fault at `message`, without the sender's knowledge. */
  readonly kept?: boolean;
};

/** The server does not listen yet. */
export function mailboxSmtp(accept: (envelope: Envelope, source: Buffer) => Promise<void>) {
  const faults: (Fault & { times: number })[] = [];
  const sockets = new Map<number, Socket>();

  /** Also counts one use of the fault. */
  const take = (at: Fault['at'], recipients: readonly string[] = []): Fault | undefined => {
    const index = faults.findIndex(
      (fault) => fault.at === at && (fault.to === undefined || recipients.some((to) => sameAddress(to, fault.to))),
    );
    const fault = faults[index];
    if (fault && --fault.times === 0) faults.splice(index, 1);
    return fault;
  };
  const drop = (session: SMTPServerSession) => void sockets.get(session.remotePort)?.destroy();
  const answer = (fault: Fault | undefined, session: SMTPServerSession, callback: (error?: Error | null) => void) => {
    if (fault === undefined) callback();
    else if (fault.reply === 'drop') drop(session);
    else callback(refusal(fault.reply));
  };

  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onAuth: (_auth, _session, callback) => callback(null, { user: 'anybody' }),
    onConnect: (session, callback) => answer(take('connect'), session, callback),
    onMailFrom: (_address, session, callback) => answer(take('mail'), session, callback),
    onRcptTo: (recipient, session, callback) => answer(take('rcpt', [recipient.address]), session, callback),
    onData(stream, session, callback) {
      const envelope = {
        from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
        to: session.envelope.rcptTo.map(({ address }) => address),
      };
      if (take('data', envelope.to)) return drop(session);
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const fault = take('message', envelope.to);
        const storing =
          fault === undefined || fault.kept === true ? accept(envelope, Buffer.concat(chunks)) : Promise.resolve();
        storing.then(() => answer(fault, session, callback), callback);
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
    /** Stops accepting connections, and closes the connections that senders keep open. */
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets.values()) socket.destroy();
      }),
  };
}

function refusal(status: number): Error {
  return Object.assign(new Error('Refused, because a fault is queued'), { responseCode: status });
}

function sameAddress(one: string, other: string | undefined): boolean {
  return one.toLowerCase() === other?.toLowerCase();
}
