/**
 * A mail server as a process of its own, so that it can be killed. It writes a line for each message that it takes over, before it
 * says so: the file is what the world received. SMTP_PORT, and MAIL_LOG for the file.
 */
import { appendFileSync } from 'node:fs';
import { SMTPServer } from 'smtp-server';
import { host } from '../../../../dev/stack/ports.ts';
import { isRefusedForGood } from './recipients.ts';

/** Of the first tries, the share that is refused for now. Later ones are not: after a second refusal the schedule waits 5 minutes. */
const refusedForNow = 0.01;
/** Of the messages, the share whose connection is cut before the end. */
const cut = 0.002;
const longestPauseMs = 20;

const port = Number(process.env['SMTP_PORT']);
const log = process.env['MAIL_LOG'] ?? '';
const tried = new Set<string>();

const refusal = (code: number) => Object.assign(new Error('Not now'), { responseCode: code });

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  onRcptTo({ address }, _session, done) {
    if (isRefusedForGood(address)) return done(refusal(550));
    const isFirst = !tried.has(address);
    tried.add(address);
    return isFirst && Math.random() < refusedForNow ? done(refusal(451)) : done();
  },
  onData(stream, { envelope }, done) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    stream.on('end', () => {
      const [to] = envelope.rcptTo;
      const mailId = /^message-id:\s*<([^@>]+)/im.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? '';
      setTimeout(() => {
        appendFileSync(log, `${JSON.stringify({ to: to?.address ?? '', mailId, at: Date.now() })}\n`);
        done();
      }, Math.random() * longestPauseMs);
    });
  },
});
server.server.on('connection', (socket) => {
  socket.on('data', () => {
    // A message of the run has one or two pieces: most cuts hit the envelope.
    if (Math.random() < cut / 10) socket.destroy();
  });
});
server.on('error', () => undefined); // a connection that is cut is the sender's trouble
server.listen(port, host);
