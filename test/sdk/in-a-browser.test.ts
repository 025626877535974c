/** Tests the SDK in Chromium: bundled as by its users, on a page of an origin that the API allows (SDK-1, SDK-3, SDK-6, SDK-7). */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import webpack from 'webpack';
import { startApi, type RunningApi } from '../../api/server.ts';
import { projectDirectory } from '../../dev/project.ts';
import { signatureHeaders } from '../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../domain/webhooks/endpoints/secrets.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { appendWords, endAnswer } from '../toolkit/drive/answers.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { openAskingClassroom } from '../toolkit/drive/asking.ts';
import { useBrowser, widths } from '../toolkit/stack/browser.ts';

/** Bundles the SDK into one script, which sets the global `sdk`. */
async function bundled(directory: string): Promise<string> {
  const compiler = webpack({
    mode: 'production',
    target: 'web',
    devtool: false,
    entry: path.join(projectDirectory, 'sdk', 'src', 'index.ts'),
    output: { path: directory, filename: 'sdk.js', library: { name: 'sdk', type: 'var' } },
    module: {
      rules: [{ test: /\.ts$/, use: { loader: 'swc-loader', options: { jsc: { parser: { syntax: 'typescript' } } } } }],
    },
    performance: { hints: false },
  });
  await new Promise<void>((resolve, reject) =>
    compiler.run((error, stats) => {
      const failure = error ?? (stats?.hasErrors() === true ? new Error(stats.toString('errors-warnings')) : undefined);
      compiler.close(() => (failure ? reject(failure) : resolve()));
    }),
  );
  return readFile(path.join(directory, 'sdk.js'), 'utf8');
}

describe('the SDK in Chromium', function () {
  this.timeout(120_000);
  const openPage = useBrowser();
  let script: string;
  let directory: string;
  let base: string;
  /** The origin of the page. The API allows it. */
  let origin: string;
  let site: http.Server;
  let api: RunningApi;
  before('bundle the SDK', async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'sdk-bundle-'));
    script = await bundled(directory);
    // A real server, because Playwright answers preflight requests by itself while it intercepts a page.
    site = http.createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
    await once(site.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    api = await startApi(await testConfig({ CORS_ORIGINS: origin }), { readinessGraceMs: 0 });
    base = `http://127.0.0.1:${api.port}`;
  });
  after(async () => {
    site.closeAllConnections();
    site.close();
    await api.stop();
    await rm(directory, { recursive: true });
  });

  async function pageWithSdk(): Promise<Page> {
    const page = await openPage(widths.laptop);
    await page.goto(origin);
    await page.addScriptTag({ content: script });
    return page;
  }

  /** Runs the body of an async function in the page. It sees `sdk` and the values. @returns its JSON result */
  const runIn = (page: Page, body: string, values: Readonly<Record<string, unknown>>): Promise<unknown> =>
    page.evaluate(`(async ({ ${Object.keys(values).join(', ')} }) => { ${body} })(${JSON.stringify(values)})`);

  async function keyOf(club: TestClub): Promise<string> {
    return (await buildApiKey(club.id, ['tags:read', 'tags:write'])).token;
  }

  it('creates a tag once for two calls with one key, and pages through a list', async () => {
    const club = await buildClub();
    const result = await runIn(
      await pageWithSdk(),
      `const client = sdk.createClient({ baseUrl, token });
       const create = (name, idempotencyKey) => client.createTag({ path: { clubId }, body: { name } }, { idempotencyKey });
       const first = await create('Knots 🪢', 'k1');
       const second = await create('Knots 🪢', 'k1');
       await create('عقد', 'k2');
       const names = [];
       for await (const tag of sdk.itemsOf(client.listTags, { path: { clubId }, query: { page_size: 1 } })) names.push(tag.name);
       return { isRepeated: first.data.id === second.data.id, names: names.toSorted() };`,
      { baseUrl: base, token: await keyOf(club), clubId: club.id },
    );
    expect(result).to.deep.equal({ isRepeated: true, names: ['Knots 🪢', 'عقد'] });
  });

  it('throws errors with their code and the id of the request', async () => {
    const club = await buildClub();
    const result = await runIn(
      await pageWithSdk(),
      `const client = sdk.createClient({ baseUrl, token });
       const error = await client.listStudents({ path: { clubId } }).catch((error) => error);
       return { isApiError: error instanceof sdk.ApiError, status: error.status, code: error.code, hasId: /^[\\w.-]{8,64}$/.test(error.requestId) };`,
      { baseUrl: base, token: await keyOf(club), clubId: club.id },
    );
    expect(result).to.deep.equal({ isApiError: true, status: 403, code: 'scope_not_granted', hasId: true });
  });

  it('streams the answer of an agent', async () => {
    const { club, openAgent, student } = await openAskingClassroom();
    const page = await pageWithSdk();
    await page.exposeFunction('accepted', async (id: string) => {
      await appendWords(id, 'A knot ', 'joins.');
      await endAnswer(id);
    });
    const result = await runIn(
      page,
      `const client = sdk.createClient({ baseUrl, token });
       let text = '';
       const names = new Set();
       for await (const event of sdk.ask(client, { path: { clubId, publicId }, body: { content: 'When is a knot a bend?' } })) {
         names.add(event.event);
         if (event.event === 'accepted') await accepted(event.data.answer.id);
         if (event.event === 'delta') text += event.data.text;
       }
       return { text, names: [...names] };`,
      { baseUrl: base, token: student.token, clubId: club.id, publicId: openAgent.publicId },
    );
    expect(result).to.deep.equal({ text: 'A knot joins.', names: ['accepted', 'delta', 'done'] });
  });

  it('resumes a stream of events, and learns that the position is forged', async () => {
    const club = await buildClub();
    const result = await runIn(
      await pageWithSdk(),
      `const client = sdk.createClient({ baseUrl, token });
       const stream = client.streamWebhookEvents({ path: { clubId }, headers: { 'Last-Event-ID': 'forged' } });
       try { for await (const event of stream) return event; } catch (error) { return error.code; }`,
      { baseUrl: base, token: (await buildApiKey(club.id, ['events:read'])).token, clubId: club.id },
    );
    expect(result).to.equal('invalid_cursor');
  });

  it('verifies a webhook, and refuses a changed one', async () => {
    const secret = newSecret();
    const body = JSON.stringify({ id: randomUUID(), type: 'student.updated', data: { student: { name: 'Zoë 🪢' } } });
    const headers = { ...signatureHeaders({ eventId: randomUUID(), body, secrets: [secret], at: Date.now() }) };
    const result = await runIn(
      await pageWithSdk(),
      `const event = sdk.webhooks.verify(headers, body, secret);
       let refused = '';
       try { sdk.webhooks.verify(headers, body + ' ', secret); } catch (error) { refused = error.name; }
       return { name: event.data.student.name, refused };`,
      { headers, body, secret },
    );
    expect(result).to.deep.equal({ name: 'Zoë 🪢', refused: 'WebhookVerificationError' });
  });
});
