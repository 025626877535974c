/** The command `conformance`: tests a receiver of webhooks from outside (SDK-10). */
import { CommandFailure, UsageError, type RunCommand } from '../command.ts';
import { httpUrl, parseOptions } from '../options.ts';
import { checks } from './checks.ts';
import { exampleEvent, signed } from './deliveries.ts';
import { post, type Answer } from './post.ts';
import { asJson, asTable, type Row } from './report.ts';
import { clockFinding, redirectFinding, timeFinding, validFinding, type Finding } from './verdicts.ts';

/** Times in milliseconds. */
export interface ConformanceTimes {
  /** The service ends an attempt after this time (DEL-1). */
  readonly timeLimitMs: number;
  /** Answers are slow from this time on. */
  readonly slowMs: number;
}

const usualTimes: ConformanceTimes = { timeLimitMs: 15_000, slowMs: 3_000 };

export const conformance: RunCommand = async (args, io) => {
  const { values } = parseOptions(args, {
    url: { type: 'string' },
    secret: { type: 'string' },
    json: { type: 'boolean' },
  });
  if (values.url === undefined) throw new UsageError('Give the address of the receiver with --url.');
  const url = httpUrl(values.url, 'The address of the receiver');
  const secret = validSecret(values.secret ?? io.env['WEBHOOK_SECRET']);
  const rows = await judge({ url, secret, signal: io.signal });
  io.out(values.json ? asJson(url, rows) : asTable(url, rows));
  return rows.some(({ verdict }) => verdict === 'fail') ? 1 : 0;
};

/**
 * Runs every check. If the receiver does not accept the first delivery, the other checks are skipped: a receiver that refuses everything
 * would pass half of them.
 * @throws CommandFailure if the signal aborts
 */
export async function judge({
  url,
  secret,
  signal,
  times = usualTimes,
}: {
  readonly url: URL;
  readonly secret: string;
  readonly signal: AbortSignal;
  readonly times?: ConformanceTimes;
}): Promise<Row[]> {
  const genuine: Answer[] = [];
  const send = async (delivery: ReturnType<typeof signed>): Promise<Answer> => {
    const answer = await post(url, delivery, { timeLimitMs: times.timeLimitMs, signal });
    if (answer.status !== undefined && answer.status < 300) genuine.push(answer);
    return answer;
  };
  try {
    const first = await send(signed(exampleEvent('webhook.test'), { secrets: [secret] }));
    const redirect = redirectFinding(first);
    const skipped: Finding = { verdict: 'skip', found: 'the receiver does not accept a valid delivery' };
    const valid = redirect.verdict === 'fail' ? skipped : validFinding(first);
    const rows: Row[] = [
      { check: 'address', ...addressFinding(url) },
      { check: 'redirects', ...redirect },
      { check: 'valid delivery', ...valid },
      { check: 'clock', ...clockFinding(first) },
    ];
    for (const { name, run } of checks)
      rows.push({ check: name, ...(valid.verdict === 'pass' ? await run({ secret, send }) : skipped) });
    const time = valid.verdict === 'pass' ? timeFinding(genuine, times.slowMs) : skipped;
    return [...rows, { check: 'answer time', ...time }];
  } catch (error) {
    if (signal.aborted) throw new CommandFailure('The test was ended before it was complete.', { cause: error });
    throw error;
  }
}

function addressFinding(url: URL): Finding {
  if (url.protocol === 'https:') return { verdict: 'pass', found: 'https' };
  return {
    verdict: 'warn',
    found: 'http',
    advice: 'This is enough for a test. The service registers public addresses of https only.',
  };
}

/** @throws UsageError if the text is no secret of an endpoint */
function validSecret(secret: string | undefined): string {
  if (!secret)
    throw new UsageError(
      'Give the secret of the receiver in the variable WEBHOOK_SECRET, or with --secret, which other users of the machine see.',
    );
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const { length } = Buffer.from(encoded, 'base64');
  if (encoded.length % 4 !== 0 || length < 24 || length > 64)
    throw new UsageError('The secret must be whsec_ and the base64 of 24 to 64 bytes.');
  return secret;
}
