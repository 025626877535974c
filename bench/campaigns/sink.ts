/**
 * A mail server that takes everything at once and keeps nothing, as a process of its own, so that what it costs falls on ours and on
 * the bare loop alike. SINK_PORT: /readyz, and /state with how many it took, and when the first and the last; SINK_SMTP_PORT.
 */
import { createServer } from 'node:http';
import { SMTPServer } from 'smtp-server';
import { host } from '../../dev/ports.ts';

/** Times are Unix milliseconds. */
export interface SinkState {
  taken: number;
  firstAt: number;
  lastAt: number;
}

let state: SinkState = { taken: 0, firstAt: 0, lastAt: 0 };

const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  onData(stream, _session, done) {
    stream.resume();
    stream.on('end', () => {
      const now = Date.now();
      state = { taken: state.taken + 1, firstAt: state.firstAt || now, lastAt: now };
      done();
    });
  },
});
smtp.on('error', () => undefined); // a sender that goes away
smtp.listen(Number(process.env['SINK_SMTP_PORT']), host);

createServer((request, response) => {
  if (request.method === 'DELETE') state = { taken: 0, firstAt: 0, lastAt: 0 };
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(state));
}).listen(Number(process.env['SINK_PORT']), host);
