/**
 * Shows the mailbox in a browser, and returns messages as JSON. The HTML of a message can contain anything, so it is shown only in a
 * sandbox.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Message, MessageStore, Summary } from './messages.ts';

/** Not yet listening. */
export function mailboxPages(store: MessageStore): Server {
  return createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://mailbox');
    answer(store, url, response).catch((error: unknown) => {
      send(response, 500, 'text/plain', error instanceof Error ? error.message : 'error');
    });
  });
}

async function answer(store: MessageStore, url: URL, response: ServerResponse): Promise<void> {
  const filter = filterOf(url);
  const [, id, part] = /^\/messages\/([\w-]+)(?:\/(html|source))?$/.exec(url.pathname) ?? [];
  const apiId = /^\/api\/messages\/([\w-]+)$/.exec(url.pathname)?.[1];

  if (url.pathname === '/') return send(response, 200, 'text/html', listPage(store.summaries(filter), filter.to));
  if (url.pathname === '/api/messages') return sendJson(response, 200, { data: store.summaries(filter) });
  if (apiId !== undefined && store.find(apiId)) return sendJson(response, 200, { data: await store.read(apiId) });
  if (id !== undefined && store.find(id)) {
    if (part === 'source') return send(response, 200, 'text/plain', await store.source(id));
    const message = await store.read(id);
    if (part === 'html') return sendMessageHtml(response, message);
    return send(response, 200, 'text/html', messagePage(message));
  }
  if (url.pathname.startsWith('/api/')) {
    return sendJson(response, 404, { error: { code: 'not_found', message: 'There is no such message.' } });
  }
  return send(
    response,
    404,
    'text/html',
    page('Not found', '<p class="empty">There is no such message. <a href="/">All messages</a></p>'),
  );
}

function filterOf(url: URL): { to?: string } {
  const to = url.searchParams.get('to')?.trim();
  return to ? { to } : {};
}

function listPage(messages: readonly Summary[], to: string | undefined): string {
  const rows = messages.map(
    (message) => `<li><a href="/messages/${message.id}">
      <span class="to">${escape(message.to.join(', '))}</span>
      <span class="subject">${escape(message.subject) || '(no subject)'}</span>
      ${time(message.received_at)}</a></li>`,
  );
  const empty = `<p class="empty">No mail${to === undefined ? ' yet' : ` to ${escape(to)}`}. This page looks again every 5 seconds.</p>`;
  return page(
    `Mailbox (${messages.length})`,
    `<form><input type="search" name="to" placeholder="Only to this address" aria-label="Only to this address" value="${escape(to ?? '')}"></form>
    ${rows.length === 0 ? empty : `<ul class="list">${rows.join('')}</ul>`}`,
    '<meta http-equiv="refresh" content="5">',
  );
}

function messagePage(message: Message): string {
  const fields = [
    ['From', message.headers['from'] ?? message.from],
    ['To', message.to.join(', ')],
  ].map(([name = '', value = '']) => `<dt>${name}</dt><dd>${escape(value)}</dd>`);
  const html = `<iframe src="/messages/${message.id}/html" title="The message as HTML"
    sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>`;
  return page(
    message.subject || '(no subject)',
    `<p><a href="/">← All messages</a></p>
    <h2>${escape(message.subject) || '(no subject)'}</h2>
    <dl>${fields.join('')}<dt>Received</dt><dd>${time(message.received_at)} · ${message.size} bytes · <a href="/messages/${message.id}/source">source</a></dd></dl>
    ${message.html === undefined ? '' : html}
    ${message.html === undefined ? `<pre>${linked(message.text)}</pre>` : `<details><summary>Text version</summary><pre>${linked(message.text)}</pre></details>`}`,
  );
}

/** The security policy protects people who open this address outside the frame. */
function sendMessageHtml(response: ServerResponse, message: Message): void {
  response.setHeader(
    'Content-Security-Policy',
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: http: https:",
  );
  send(response, 200, 'text/html', `<base target="_blank">${message.html ?? ''}`);
}

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>${head}<style>${style}</style></head>
<body><header><a href="/">Mailbox</a><span>Mail of this development stack. Nothing leaves this machine.</span></header>
<main>${body}</main></body></html>`;
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#d8dee6, #333b45); --quiet: light-dark(#5b6673, #9aa5b1);
  --paper: light-dark(#fff, #1b2027); --ground: light-dark(#f3f5f8, #12161b); --link: light-dark(#0b57a4, #7cb7f2); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; padding: .75rem 1rem; border-bottom: 1px solid var(--line); background: var(--paper); }
header a { font-weight: 650; font-size: 1.1rem; text-decoration: none; }
header span, time, dt, .empty { color: var(--quiet); font-size: .9rem; }
main { max-width: 56rem; margin: 0 auto; padding: 1rem; }
input { width: 100%; padding: .55rem .75rem; font: inherit; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper); color: inherit; }
.list { list-style: none; margin: 1rem 0; padding: 0; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper); overflow: hidden; }
.list li + li { border-top: 1px solid var(--line); }
.list a { display: grid; grid-template-columns: 16rem 1fr auto; gap: .1rem 1rem; padding: .7rem 1rem; color: inherit; text-decoration: none; }
.list a:hover { background: var(--ground); }
.to { color: var(--quiet); } .subject { font-weight: 550; }
h2 { margin: .5rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dd { margin: 0; }
iframe { width: 100%; height: 60vh; border: 1px solid var(--line); border-radius: .5rem; background: #fff; }
pre { white-space: pre-wrap; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper); font: inherit; }
details { margin-top: 1rem; }
@media (max-width: 40rem) { .list a { grid-template-columns: 1fr; } .subject { grid-row: 1; } }
`;

function time(iso: string): string {
  return `<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** Escapes the text, and makes its addresses clickable. */
function linked(text: string): string {
  return text
    .split(/(https?:\/\/[^\s<>"']+)/)
    .map((piece, index) =>
      index % 2 === 1 ? `<a href="${escape(piece)}" rel="noreferrer">${escape(piece)}</a>` : escape(piece),
    )
    .join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, 'application/json', JSON.stringify(value));
}

function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; form-action 'self'; base-uri 'none'";
  if (!response.hasHeader('Content-Security-Policy')) response.setHeader('Content-Security-Policy', policy);
  response.writeHead(status, {
    'Content-Type': `${type}; charset=utf-8`,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(body);
}
