/**
 * Tests a session link from a club's own site to the classroom in Chromium (ENTRY-1, ENTRY-3). The site and the classroom are small real
 * servers. The script of the page is the one in docs/how-to/sign-students-in-from-your-site.md.
 */
import { expect } from 'chai';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { startApi, type RunningApi } from '../../api/server.ts';
import { projectDirectory } from '../../dev/project.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { useBrowser, widths } from '../toolkit/stack/browser.ts';

interface Arrival {
  url: string;
  referer: string;
}
type Respond = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The script of the page `/enter`, as the how-to shows it. */
function scriptOfHowTo(): string {
  const page = readFileSync(path.join(projectDirectory, 'docs/how-to/sign-students-in-from-your-site.md'), 'utf8');
  const [, script] = /```js\n(\/\/ The page \/enter[\s\S]*?)```/.exec(page) ?? [];
  if (script === undefined) throw new Error('The how-to has no script of the page /enter');
  return script;
}

describe('a session link in Chromium', function () {
  this.timeout(90_000);
  const openPage = useBrowser();
  let club: TestClub;
  let student: TestStudent;
  let api: RunningApi;
  let key: string;
  let landing: string;
  const servers: http.Server[] = [];
  /** All requests that reach the site, the classroom and a server of a third party. */
  let arrivals: Arrival[] = [];

  async function serve(respond: Respond): Promise<string> {
    const server = http.createServer((request, response) => {
      arrivals.push({ url: request.url ?? '', referer: request.headers.referer ?? '' });
      respond(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const html = (response: ServerResponse, body: string) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><meta charset=utf-8>${body}`);

  let site: string;
  let classroom: string;
  let lastLink = '';
  before('start the site, the classroom and the API', async () => {
    club = await buildClub();
    student = await buildStudent(club.id, { name: 'Grace Hopper' });
    key = (await buildApiKey(club.id, ['sessions:write'])).token;
    let third = '';
    third = await serve(async ({ url }, response) => {
      const isScript = url === '/tracker.js';
      // A script of a third party sends the address of the page to its own server.
      const script = `new Image().src = '${third}/seen?' + encodeURIComponent(location.href + document.referrer)`;
      response
        .writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'image/gif' })
        .end(isScript ? script : '');
    });
    classroom = await serve(async (request, response) => {
      if (request.url?.startsWith('/v1/') === true) return passOn(request, response, api.port);
      const greet = `fetch('/v1/auth/session', { headers: { authorization: 'Bearer ' + localStorage.session } })
        .then((answer) => answer.json()).then(({ data }) => (document.querySelector('h1').textContent = data?.name));`;
      html(
        response,
        `<h1>…</h1><script>const clubId = '${club.id}', signInPage = '${site}/sign-in?failed';
         ${request.url === '/enter' ? scriptOfHowTo() : greet}</script><script src="${third}/tracker.js"></script>`,
      );
    });
    site = await serve(async (request, response) => {
      const isSignedIn = request.headers.cookie?.includes('user=grace') === true;
      if (request.url === '/sign-in' && request.method === 'POST')
        return void response
          .writeHead(303, { location: '/', 'set-cookie': 'user=grace; HttpOnly; SameSite=Lax' })
          .end();
      if (request.url === '/classroom' && isSignedIn) {
        lastLink = await linkOf(landing);
        return void response.writeHead(303, { location: lastLink, 'cache-control': 'no-store' }).end();
      }
      if (request.url === '/' && isSignedIn) return void html(response, '<a href="/classroom">Open the classroom</a>');
      html(response, '<form method=post action=/sign-in><button>Sign in</button></form>');
    });
    api = await startApi(await testConfig({ CLASSROOM_URL: classroom }), { readinessGraceMs: 0 });
  });
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await api.stop();
  });
  beforeEach(() => {
    arrivals = [];
    landing = '/courses/knots?tab=files';
  });

  /** The server of the site calls the API with its key. */
  async function linkOf(page: string): Promise<string> {
    const answer = await fetch(
      `http://127.0.0.1:${api.port}/v1/clubs/${club.id}/students/${student.id}/session-links`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ path: page }),
      },
    );
    return ((await answer.json()) as { data: { url: string } }).data.url;
  }

  async function enterBySite(): Promise<Page> {
    const page = await openPage(widths.laptop);
    await page.goto(site);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Open the classroom' }).click();
    await page.getByRole('heading', { name: 'Grace Hopper' }).waitFor();
    return page;
  }

  it('signs a student in by one click on the site, and lands on the page that the site named', async () => {
    const page = await enterBySite();
    expect(page.url()).to.equal(`${classroom}/courses/knots?tab=files`);
  });

  it('leaves its token in no address, no Referer and no entry of the history', async () => {
    const page = await enterBySite();
    const token = new URL(lastLink).hash.slice('#token='.length);
    expect(token).to.have.length(43);
    expect(arrivals.filter(({ url }) => url.startsWith('/seen?')).length, 'the tracker ran on both pages').to.equal(2);
    expect(JSON.stringify(arrivals)).to.not.include(token);
    const session = await page.context().newCDPSession(page);
    const { entries } = (await session.send('Page.getNavigationHistory')) as {
      entries: { url: string; userTypedURL: string }[];
    };
    const addresses = new Set(entries.map(({ url }) => url).filter((url) => url !== 'about:blank'));
    expect([...addresses]).to.deep.equal([`${site}/`, `${classroom}/courses/knots?tab=files`]);
    expect(JSON.stringify(entries)).to.not.include(token);
    expect(await page.evaluate<string>('document.referrer')).to.not.include(token);
  });

  it('does not open the classroom again, and sends the person back to the site', async () => {
    await enterBySite();
    const stranger = await openPage(widths.laptop);
    await stranger.goto(lastLink);
    await stranger.waitForURL(`${site}/sign-in?failed`);
    expect(await stranger.evaluate<string>('history.length + document.referrer')).to.not.include('token');
  });

  it('shows a person who is not signed in on the site the sign-in of the site', async () => {
    const page = await openPage(widths.laptop);
    await page.goto(`${site}/classroom`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(arrivals.some(({ url }) => url.startsWith('/v1/'))).to.equal(false);
  });
});

/** Passes a request to the API, as the proxy of the classrooms does. */
async function passOn(request: IncomingMessage, response: ServerResponse, port: number): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const passed = http.request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', (error) => response.writeHead(502).end(error.message));
  request.pipe(passed);
  await once(response, 'close');
}
