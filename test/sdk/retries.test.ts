/** Tests the retries, keys and time limits of the SDK with a server that fails by a script (SDK-3, SDK-4). */
import { expect } from 'chai';
import { createClient, TimeoutError, type ClientOptions } from '../../sdk/src/index.ts';
import { startScriptedServer, type ScriptedAnswer, type ScriptedServer } from '../toolkit/fakes/scripted-server.ts';

const club = { clubId: 'a' };
const busy: ScriptedAnswer = { status: 503, body: { error: { code: 'busy' } } };
const student: ScriptedAnswer = { body: { data: { id: 'b' } } };
const path = { ...club, studentId: 'b' };
const key = { idempotencyKey: 'order-17' };

describe('retries of the SDK', () => {
  let server: ScriptedServer;
  afterEach(() => server.stop());

  /** @param answers the answers in their order; the last one repeats */
  async function clientOf(answers: readonly ScriptedAnswer[], options: Partial<ClientOptions> = {}) {
    server = await startScriptedServer((_request, number) => answers[number - 1] ?? answers.at(-1) ?? 'drop');
    return createClient({ baseUrl: server.base, token: 'clk_x', ...options });
  }
  const failureOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => undefined,
      (error: unknown) => error,
    );

  const failures: Readonly<Record<string, ScriptedAnswer>> = {
    'a closed connection': 'drop',
    'a cut body': { body: { data: { id: 'b' } }, ending: 'cut' },
    '503 busy': busy,
    '500 internal_error': { status: 500, body: { error: { code: 'internal_error' } } },
    '429 rate_limited': { status: 429, headers: { 'retry-after': '0' }, body: { error: { code: 'rate_limited' } } },
    '502 of a proxy': { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' },
  };
  for (const [failure, answer] of Object.entries(failures))
    it(`repeats a GET after ${failure}`, async () => {
      const client = await clientOf([answer, student]);
      expect((await client.getStudent({ path })).data.id).to.equal('b');
      expect(server.requests).to.have.length(2);
    });

  it('repeats PUT and DELETE after a closed connection', async () => {
    const client = await clientOf(['drop', student, 'drop', student]);
    await client.setAiBudgetLimit({ path: club, body: { own_limit: 500 } });
    await client.removeStudent({ path });
    expect(server.requests.map(({ method }) => method)).to.deep.equal(['PUT', 'PUT', 'DELETE', 'DELETE']);
  });

  it('gives up after three further tries', async () => {
    const client = await clientOf([busy]);
    expect(await failureOf(client.getStudent({ path }))).to.include({ status: 503, code: 'busy' });
    expect(server.requests).to.have.length(4);
  }).timeout(15_000);

  it('never repeats a POST without an idempotency key', async () => {
    const client = await clientOf([busy]);
    const body = { email: 'ada@example.com', password: 'x', club_id: 'a' };
    expect(await failureOf(client.signInStudent({ body }))).to.include({ status: 503 });
    expect(server.requests).to.have.length(1);
  });

  it('sends one idempotency key with all tries of a POST', async () => {
    const client = await clientOf(['drop', busy, student]);
    const body = { name: 'Ada', email: 'ada@example.com' };
    await client.createStudent({ path: club, body }, key);
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).to.deep.equal(Array(3).fill('order-17'));
  });

  it('sends a new key with each POST, and one key with all its tries', async () => {
    const client = await clientOf([busy, student, busy, student]);
    for (const name of ['Ada', 'Ben']) await client.createStudent({ path: club, body: { name, email: 'a@b.c' } });
    const [first, second, third, fourth] = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(first).to.match(/^[0-9a-f-]{36}$/);
    expect([second, fourth]).to.deep.equal([first, third]);
    expect(third).not.to.equal(first);
  });

  it('sends no key if the operation or the caller does not want one', async () => {
    const client = await clientOf([student]);
    const body = { email: 'ada@example.com', password: 'x', club_id: 'a' };
    await client.signInStudent({ body });
    await client.createStudent({ path: club, body: { name: 'Ada', email: 'a@b.c' } }, { idempotencyKey: false });
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).to.deep.equal([undefined, undefined]);
  });

  it('waits for the first try of a request if the service still runs it', async () => {
    const client = await clientOf([{ status: 409, body: { error: { code: 'request_in_progress' } } }, student]);
    await client.createStudent({ path: club, body: { name: 'Ada', email: 'ada@example.com' } }, key);
    expect(server.requests).to.have.length(2);
  });

  it('does not repeat a refusal', async () => {
    const client = await clientOf([{ status: 409, body: { error: { code: 'email_taken' } } }]);
    const call = client.createStudent({ path: club, body: { name: 'Ada', email: 'ada@example.com' } }, key);
    expect(await failureOf(call)).to.include({ code: 'email_taken' });
    expect(server.requests).to.have.length(1);
  });

  it('waits as long as Retry-After says', async () => {
    const limited = { status: 429, headers: { 'retry-after': '1' }, body: { error: { code: 'rate_limited' } } };
    const client = await clientOf([limited, student]);
    await client.getStudent({ path });
    const [first, second] = server.requests;
    expect((second?.receivedAt ?? 0) - (first?.receivedAt ?? 0)).to.be.within(1_000, 3_000);
  });

  it('gives up if Retry-After is above its limit', async () => {
    const limited = { status: 429, headers: { 'retry-after': '61' }, body: { error: { code: 'rate_limited' } } };
    const client = await clientOf([limited]);
    const error = (await failureOf(client.getStudent({ path }))) as { headers: Headers };
    expect(error.headers.get('retry-after')).to.equal('61');
    expect(server.requests).to.have.length(1);
  });

  it('ends each try at the time limit, and reports the limit in the error', async () => {
    const client = await clientOf(['hang'], { timeoutMs: 50, retries: 1 });
    const error = await failureOf(client.getStudent({ path }));
    expect(error).to.be.instanceOf(TimeoutError);
    expect(error).to.include({ operationId: 'getStudent', timeout: 50, attempt: 2 });
  });

  it('ends a body that never ends at the time limit', async () => {
    const client = await clientOf([{ body: { data: {} }, ending: 'silent' }], { timeoutMs: 50, retries: 0 });
    expect(await failureOf(client.getStudent({ path }))).to.be.instanceOf(TimeoutError);
  });

  it('throws the reason of an aborted signal, and sends nothing more', async () => {
    const client = await clientOf([busy]);
    const reason = new Error('The user left.');
    const call = client.getStudent({ path }, { signal: AbortSignal.any([abortedAfter(100, reason)]) });
    expect(await failureOf(call)).to.equal(reason);
    const { length } = server.requests;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(server.requests).to.have.length(length);
  });

  it('asks for the token before each request, and not for each try', async () => {
    let count = 0;
    const client = await clientOf([busy, student], { token: () => `token-${++count}` });
    await client.getStudent({ path });
    await client.getStudent({ path });
    const tokens = server.requests.map(({ headers }) => headers['authorization']);
    expect(tokens).to.deep.equal(['Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
  });

  it('closes a stream that falls silent', async () => {
    const { transportOf } = await import('../../sdk/src/transport.ts');
    server = await startScriptedServer(() => ({ body: ': comment\n\n', ending: 'silent' }));
    const response = await transportOf(undefined, 50)(server.base);
    expect(String(await failureOf(response.text()))).to.include('silent for 50 ms');
  });
});

function abortedAfter(ms: number, reason: Error): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), ms);
  return controller.signal;
}
