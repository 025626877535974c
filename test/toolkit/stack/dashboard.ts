/** A small dashboard page for browser tests. It signs an administrator in at an identity provider, and passes calls on to the API. */
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Dashboard</title>
<button id="start">Sign in with Harbour Group</button><output></output><script type="module">
const show = (text) => { document.querySelector('output').textContent = text; };
const post = async (path, body) => (await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json();
document.querySelector('#start').addEventListener('click', async () => {
  const { providers } = (await (await fetch('/v1/auth/admin/providers')).json()).data;
  const { data } = await post('/v1/auth/admin/providers/start', { provider_id: providers[0].id });
  sessionStorage.setItem('sign_in_token', data.sign_in_token);
  location.assign(data.url);
});
const answer = Object.fromEntries(new URLSearchParams(location.search));
if (answer.code) {
  history.replaceState(null, '', location.pathname);
  const sign_in_token = sessionStorage.getItem('sign_in_token') ?? 'none';
  sessionStorage.removeItem('sign_in_token');
  const { data, error } = await post('/v1/auth/admin/code/exchange', { sign_in_token, ...answer });
  show(data ? 'Hello ' + data.administrator.name : error.code);
}
</script></html>`;

export interface Dashboard {
  /** The address to which the provider sends the browser. */
  url: string;
  /** Passes calls on to this API from now on. */
  useApi(base: string): void;
  stop(): void;
}

export async function startDashboard(): Promise<Dashboard> {
  let api = '';
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/v1/'))
      return void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    const { method, headers } = request;
    const call = forward(new URL(request.url, api), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(call);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A dashboard listens on a port.');
  return {
    url: `http://localhost:${address.port}/sign-in`,
    useApi: (base) => void (api = base),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
