/**
 * Runs a mail server in its own process, so that the proof can kill it. The server logs each message before it accepts the message, so the
 * log contains every message that the server received. The variable SMTP_PORT sets the port, and MAIL_LOG the file.
 */
import { appendFileSync } from 'node:fs';
import { SMTPServer } from 'smtp-server';
import { host } from '../../../../dev/stack/ports.ts';
import { isRefusedForGood } from './recipients.ts';

/**
 * The share of first tries that get a temporary refusal. Later tries get no refusal, because the schedule waits 5 minutes after the
 * second refusal.
 */
const refusedForNow = 0.01;
/** The server breaks the connection during this share of the messages. */
const cut = 0.002;
const longestPauseMs = 20;

const port = Number(process.env['SMTP_PORT']);
const log = process.env['MAIL_LOG'] ?? '';
const seenAddresses = new Set<string>();

const refusal = (code: number) => Object.assign(new Error('Not now'), { responseCode: code });

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  onRcptTo({ address }, _session, answer) {
    if (isRefusedForGood(address)) return answer(refusal(550));
    const isFirst = !seenAddresses.has(address);
    seenAddresses.add(address);
    return isFirst && Math.random() < refusedForNow ? answer(refusal(451)) : answer();
  },
  onData(stream, { envelope }, answer) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    stream.on('end', () => {
      const [to] = envelope.rcptTo;
      const mailId = /^message-id:\s*<([^@>]+)/im.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? '';
      setTimeout(() => {
        appendFileSync(log, `${JSON.stringify({ to: to?.address ?? '', mailId, at: Date.now() })}\n`);
        answer();
      }, Math.random() * longestPauseMs);
    });
  },
});
server.server.on('connection', (socket) => {
  socket.on('data', () => {
    // A message of this proof arrives in one or two pieces of data, so most breaks hit the SMTP commands before the message.
    if (Math.random() < cut / 10) socket.destroy();
  });
});
server.on('error', () => undefined); // the sender must handle a broken connection
server.listen(port, host);
