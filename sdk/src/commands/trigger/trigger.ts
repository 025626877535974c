/** The command `trigger`: sends the contract's example of an event to a receiver, without the service (LSN-9). */
import { UsageError, type RunCommand } from '../command.ts';
import { eventTypes, exampleEvent } from '../conformance/deliveries.ts';
import { forward, isAccepted, lineOf } from '../listen/forward.ts';
import { secretOf } from '../listen/secret.ts';
import { httpUrl, parseOptions } from '../options.ts';

export const trigger: RunCommand = async (args, io) => {
  const options = { 'forward-to': { type: 'string' }, json: { type: 'boolean' } } as const;
  const { values, positionals } = parseOptions(args, options, true);
  const [name, ...rest] = positionals;
  const type = eventTypes.find((one) => one === name);
  if (type === undefined || rest.length > 0) throw new UsageError(`Name one event: ${eventTypes.join(', ')}.`);
  if (values['forward-to'] === undefined) throw new UsageError('Give the address of the receiver with --forward-to.');
  const url = httpUrl(values['forward-to'], 'The address of the receiver');
  const key = io.env['CLUB_LEARNING_API_KEY'];
  if (!key?.startsWith('clk_'))
    throw new UsageError('Set the variable CLUB_LEARNING_API_KEY to an API key. The secret is derived from it.');
  const forwarded = await forward(exampleEvent(type), { url, secret: secretOf(key), signal: io.signal });
  io.out(lineOf(forwarded, values.json === true));
  return isAccepted(forwarded) ? 0 : 1;
};
