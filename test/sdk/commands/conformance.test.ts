/** Tests the command `conformance` with the receivers of the docs, and with receivers that each have one flaw (SDK-10). */
import { expect } from 'chai';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';
import { judge } from '../../../sdk/src/commands/conformance/conformance.ts';
import { eventTypes } from '../../../sdk/src/commands/conformance/deliveries.ts';
import type { Row } from '../../../sdk/src/commands/conformance/report.ts';
import { main } from '../../../sdk/src/commands/main.ts';
import { recordedIo } from '../../toolkit/drive/command-io.ts';
import { startFlawedReceiver, type Flaw } from '../../toolkit/fakes/flawed-receiver.ts';
import { respondWith, selfSigned, startReceiver } from '../../toolkit/fakes/tls-receiver.ts';
import { examples, startExample, whyMissing } from '../../toolkit/stack/example-receiver.ts';

const secret = newSecret();

/** @returns the names of the checks with this verdict */
const named = (rows: readonly Row[], verdict: Row['verdict']): string[] =>
  rows.filter((row) => row.verdict === verdict).map(({ check }) => check);

/** Judges a receiver with a flaw. The limits are short, because no receiver of the tests is slow without a flaw. */
async function judged(flaw: Flaw, times = { timeLimitMs: 10_000, slowMs: 5_000 }): Promise<Row[]> {
  const receiver = await startFlawedReceiver(secret, flaw);
  try {
    return await judge({ url: receiver.url, secret, signal: new AbortController().signal, times });
  } finally {
    await receiver.stop();
  }
}

describe('conformance: a receiver with one flaw', function () {
  this.timeout(60_000);

  it('passes every check without a flaw, with a warning for http', async () => {
    const rows = await judged('none');
    expect(rows.filter(({ verdict }) => verdict !== 'pass').map(({ check }) => check)).to.deep.equal(['address']);
    expect(rows).to.have.length(23);
  });

  const failures: { readonly [flaw in Flaw]?: readonly string[] } = {
    'refuses a known id': ['duplicate'],
    'refuses an older event': ['reordering'],
    'does not refuse types that it subscribed to, but fails at one': ['event types'],
    'does not look at the age': ['stale timestamp'],
    'does not look ahead': ['future timestamp'],
    'reads one signature': ['two signatures'],
    'refuses other versions': ['other versions'],
    'compares nothing': ['wrong signature', 'altered body', 'altered headers'],
    'takes a request without a signature': ['missing header'],
    'trims the body': ['altered body'],
    'signs the id of the body': ['altered headers'],
    'prints the body again': ['altered body', 'raw bytes'],
    'takes 32 KiB': ['large body'],
    'reads the body as Latin-1': ['unicode'],
    'refuses unknown types': ['unknown type'],
    'refuses unknown fields': ['unknown fields'],
    'handles one request at a time': ['burst'],
    redirects: ['redirects'],
    'refuses everything': ['valid delivery'],
  };
  for (const [flaw, expected] of Object.entries(failures))
    it(`fails only in the check for this flaw: ${flaw}`, async () => {
      const rows = await judged(flaw as Flaw);
      expect(named(rows, 'fail')).to.deep.equal(expected);
      for (const { verdict, advice } of rows) if (verdict === 'fail') expect(advice).to.be.a('string');
    });

  it('warns if the tolerance of the clock is shorter than 5 minutes', async () => {
    expect(named(await judged('allows one minute'), 'warn')).to.deep.equal(['address', 'clock tolerance']);
  });

  const forgeryChecks = ['stale timestamp', 'future timestamp', 'wrong signature', 'missing header'].concat(
    'altered body',
    'altered headers',
  );
  for (const flaw of ['crashes on a false request', 'cuts a false request'] as const)
    it(`warns about a receiver that ${flaw}`, async () => {
      const rows = await judged(flaw);
      expect(named(rows, 'warn')).to.deep.equal(['address', ...forgeryChecks]);
      expect(named(rows, 'fail')).to.deep.equal([]);
    });

  for (const flaw of ['answers 410 to a false request', 'answers 200 to a false request'] as const)
    it(`fails a receiver that ${flaw}`, async () => {
      expect(named(await judged(flaw), 'fail')).to.deep.equal(forgeryChecks);
    });

  it('warns about slow answers, and fails a receiver that answers after the limit', async () => {
    const slow = await judged('answers after 60 ms', { timeLimitMs: 10_000, slowMs: 30 });
    expect(named(slow, 'warn')).to.deep.equal(['address', 'answer time']);
    expect(named(slow, 'fail')).to.deep.equal([]);
    const late = await judged('answers after 60 ms', { timeLimitMs: 20, slowMs: 10 });
    expect(late.find(({ check }) => check === 'valid delivery')).to.deep.include({
      verdict: 'fail',
      found: 'timeout',
      advice: 'Answer within 15 seconds: store the delivery, answer, and handle it afterwards.',
    });
  });

  it('skips the other checks after a valid delivery that is refused, and says why', async () => {
    const rows = await judged('refuses everything');
    expect(named(rows, 'pass')).to.deep.equal(['redirects', 'clock']);
    expect(named(rows, 'skip')).to.have.length(19);
  });

  it('names the final address, a wrong path and a wrong clock', async () => {
    const adviceOf = async (flaw: Flaw) => (await judged(flaw)).find(({ verdict }) => verdict === 'fail')?.advice;
    expect(await adviceOf('redirects')).to.equal('Register the final address, https://example.com/hooks.');
    expect(await adviceOf('is another page')).to.equal(
      'Is the path of the address right? The receiver must accept POST.',
    );
    expect(await adviceOf('has a wrong clock')).to.match(/^The clock of the receiver is -60[012] s away\./);
  });

  it('says what it cannot see from outside, with the ids to look for', async () => {
    const rows = await judged('none');
    for (const check of ['duplicate', 'reordering'])
      expect(rows.find((row) => row.check === check)?.advice).to.match(/^Not visible from outside: .*[0-9a-f-]{36}/);
  });
});

describe('conformance: the command', function () {
  this.timeout(60_000);
  const run = async (args: readonly string[], env: Readonly<Record<string, string>> = { WEBHOOK_SECRET: secret }) => {
    const io = recordedIo(env);
    return { code: await main(['conformance', ...args], io), ...io.written };
  };
  const withReceiver = async <Result>(flaw: Flaw, use: (url: string) => Promise<Result>): Promise<Result> => {
    const receiver = await startFlawedReceiver(secret, flaw);
    try {
      return await use(receiver.url.href);
    } finally {
      await receiver.stop();
    }
  };

  it('prints a table with the counts, and exits with 0 if no check fails', async () => {
    const { code, out, error } = await withReceiver('none', (url) => run(['--url', url]));
    expect([code, error]).to.deep.equal([0, '']);
    expect(out)
      .to.match(/^pass {2}two signatures +204$/m)
      .and.match(/^22 pass, 1 warn, 0 fail, 0 skip\n$/m);
  });

  it('takes the secret from --secret before the environment, and exits with 1 if a check fails', async () => {
    const other = { WEBHOOK_SECRET: newSecret() };
    const codes = await withReceiver('none', async (url) => [
      (await run(['--url', url, '--secret', secret], other)).code,
      (await run(['--url', url], other)).code,
    ]);
    expect(codes).to.deep.equal([0, 1]);
  });

  it('prints one JSON object with --json, without the secret and without the query of the address', async () => {
    const { out } = await withReceiver('redirects', (url) => run(['--url', url, '--json']));
    const report = JSON.parse(out) as { url: string; counts: object; checks: Row[] };
    expect(report.counts).to.deep.equal({ pass: 1, warn: 1, fail: 1, skip: 20 });
    expect(report.checks.find(({ verdict }) => verdict === 'fail')).to.include({ check: 'redirects' });
    expect(report.url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/hooks$/);
    expect(out).to.not.include(secret);
  });

  const wrongStarts: Readonly<Record<string, readonly [readonly string[], Readonly<Record<string, string>>, RegExp]>> =
    {
      'no address': [[], { WEBHOOK_SECRET: secret }, /--url/],
      'an address that is no URL': [['--url', 'localhost'], { WEBHOOK_SECRET: secret }, /http or https/],
      'no secret': [['--url', 'http://127.0.0.1:9'], {}, /WEBHOOK_SECRET/],
      'a secret that is no secret': [['--url', 'http://127.0.0.1:9', '--secret', 'whsec_abc'], {}, /24 to 64 bytes/],
      'an unknown option': [['--uri', 'http://127.0.0.1:9'], {}, /--uri/],
    };
  for (const [what, [args, env, message]] of Object.entries(wrongStarts))
    it(`exits with 2 and sends nothing for ${what}`, async () => {
      const { code, error } = await run(args, env);
      expect(code).to.equal(2);
      expect(error).to.match(message);
    });

  it('exits with 1 and names the cause if nothing listens at the address', async () => {
    const { code, out } = await run(['--url', 'http://127.0.0.1:9']);
    expect(code).to.equal(1);
    expect(out).to.include('ECONNREFUSED').and.include('Is the receiver running at this address?');
  });

  it('says that the service refuses the certificate, too', async () => {
    const receiver = await startReceiver(await selfSigned('127.0.0.1'), respondWith());
    const { code, out } = await run(['--url', `https://127.0.0.1:${receiver.port}`]);
    await receiver.stop();
    expect(code).to.equal(1);
    expect(out).to.include('DEPTH_ZERO_SELF_SIGNED_CERT').and.include('The service refuses this certificate, too.');
  });

  it('ends when the person ends it, with the message', async () => {
    const io = recordedIo({ WEBHOOK_SECRET: secret });
    const code = await withReceiver('answers after 60 ms', async (url) => {
      const running = main(['conformance', '--url', url], io);
      setTimeout(() => io.end(), 50);
      return running;
    });
    expect([code, io.written.error]).to.deep.equal([1, 'The test was ended before it was complete.\n']);
  });

  it('prints no control characters of an answer', async () => {
    const { out } = await withReceiver('prints control characters', (url) => run(['--url', url]));
    expect(out).to.include('401 [31mred').and.not.include('\u001b');
  });
});

for (const example of examples) {
  const missing = whyMissing(example);

  describe(`conformance: docs/examples/receivers/${example.file}`, function () {
    this.timeout(180_000);
    if (missing !== undefined) {
      it.skip(`is not run: ${missing}`);
      return;
    }

    it('passes every check, and handles a duplicate once', async () => {
      const receiver = await startExample(example, secret);
      try {
        const url = new URL(receiver.url);
        const rows = await judge({ url, secret, signal: new AbortController().signal });
        const bad = rows.filter(({ verdict }) => verdict === 'fail' || verdict === 'warn');
        expect(bad.map(({ check, found }) => `${check}: ${found}`)).to.deep.equal(['address: http']);
        const [, id = ''] =
          /handled (\S+) once/.exec(rows.find(({ check }) => check === 'duplicate')?.advice ?? '') ?? [];
        await receiver.untilHandled(id);
        expect(receiver.timesHandled(id)).to.equal(1);
      } finally {
        await receiver.stop();
      }
    });
  });
}

describe('conformance: the deliveries', () => {
  it('have an example of every event of the contract', () => {
    expect(eventTypes).to.have.length(20);
    expect(eventTypes).to.include.members(['access.moved', 'student.removed', 'webhook.test']);
  });
});
