/**
 * A mail server that accepts everything and stores nothing. A separate process, so that its cost affects the product and the bare loop
 * equally. SINK_SMTP_PORT receives mails; SINK_PORT serves /readyz, and /state with the number of mails and the first and last time.
 */
import { createServer } from 'node:http';
import { SMTPServer } from 'smtp-server';
import { host } from '../../dev/stack/ports.ts';

/** Unix milliseconds. */
export interface SinkState {
  mailCount: number;
  firstAt: number;
  lastAt: number;
}

let state: SinkState = { mailCount: 0, firstAt: 0, lastAt: 0 };

const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  onData(stream, _session, callback) {
    stream.resume();
    stream.on('end', () => {
      const now = Date.now();
      state = { mailCount: state.mailCount + 1, firstAt: state.firstAt || now, lastAt: now };
      callback();
    });
  },
});
smtp.on('error', () => undefined); // a sender disconnects
smtp.listen(Number(process.env['SINK_SMTP_PORT']), host);

createServer((request, response) => {
  if (request.method === 'DELETE') state = { mailCount: 0, firstAt: 0, lastAt: 0 };
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(state));
}).listen(Number(process.env['SINK_PORT']), host);
