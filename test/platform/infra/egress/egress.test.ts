import { makeAuthority, type Authority } from '../../../../dev/stack/certificates.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { createEgress, dnsResolver, type Egress, type Resolve } from '../../../../platform/infra/egress/egress.ts';
import { getText } from '../../../../platform/infra/egress/get-text.ts';
import { postWebhook } from '../../../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../../../domain/webhooks/endpoints/secrets.ts';
import { startNameServer } from '../../../toolkit/fakes/name-server.ts';
import { respondWith, startReceiver } from '../../../toolkit/fakes/tls-receiver.ts';
import { expect } from 'chai';
import { mock } from 'node:test';

/** So that a URL can be refused only for its form or its literal address. */
const everyNameIsPublic: Resolve = async () => ['93.184.215.14'];

const loopback = ['127.0.0.0/8'];
const noContent = respondWith('HTTP/1.1 204 No Content\r\n\r\n');

/** The hosts are non-public addresses, in many spellings. */
const literals = [
  'https://0.0.0.0/',
  'https://0/',
  'https://0.0.0.1/',
  'https://127.0.0.1/',
  'https://127.0.0.1:8443/hook',
  'https://127.0.0.1./',
  'https://127.1/',
  'https://127.0.1/',
  'https://127.255.255.254/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.1/',
  'https://0x7f.0x0.0x0.0x1/',
  'https://0X7F.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://0177.0x0.0.1/',
  'https://127.0.0.01/',
  'https://127。0。0。1/',
  'https://127．0．0．1/',
  'https://１２７.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://%31%32%37.0.0.1/',
  'https://127%2e0%2e0%2e1/',
  'https://\u00AD127.0.0.1/',
  'https://10.0.0.1/',
  'https://10.1/',
  'https://167772161/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.0.1/',
  'https://0xc0a80001/',
  'https://0300.0250.0.1/',
  'https://100.64.0.1/',
  'https://100.100.100.200/latest/meta-data/',
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://0xa9fea9fe/',
  'https://168.63.129.16/',
  'https://192.0.0.192/',
  'https://192.0.2.1/',
  'https://192.88.99.1/',
  'https://198.18.0.1/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://4294967295/',
  'https://[::]/',
  'https://[::1]/',
  'https://[::1]:8443/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[0000::0001]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::FFFF:7F00:1]/',
  'https://[0:0:0:0:0:ffff:127.0.0.1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001::7f00:1]/',
  'https://[2001:db8::1]/',
  'https://[3fff::1]/',
  'https://[4000::1]/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://localhost:8443/',
  'https://localhost%2E/',
  'https://ｌｏｃａｌｈｏｓｔ/',
  'https://receiver.localhost/',
  'https://a.b.localhost./',
];

/** The service refuses these URLs for their form, before it resolves a name. */
const malformed = [
  '',
  'example.com',
  '//example.com/hook',
  '/hook',
  'http://example.com/',
  'HTTP://example.com/',
  'ftp://example.com/',
  'ws://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:text/plain,x',
  'blob:https://example.com/1',
  'https:example.com',
  'https:/example.com',
  'https:\\\\example.com\\',
  'https://example.com\\@10.0.0.1/',
  ' https://example.com/',
  'https://example.com/ ',
  'https://example.com/a b',
  'https://exa\nmple.com/',
  'https://example.com/\t',
  'https://example.com/\0',
  'https://',
  'https:///',
  'https://user@example.com/',
  'https://user:password@example.com/',
  'https://:password@example.com/',
  'https://127.0.0.1%2f@example.com/',
  'https://example.com/#fragment',
  'https://example.com/#',
  'https://example.com:0/',
  'https://example.com:65536/',
  'https://example.com:port/',
  'https://example.com:-1/',
  'https://256.0.0.1/',
  'https://1.2.3.4.5/',
  'https://0x100000000/',
  'https://[::1/',
  'https://[fe80::1%25eth0]/',
  'https://[1::2::3]/',
  'https://exam ple.com/',
  'https://example..com/',
  'https://example.com../',
  'https://.example.com/',
  'https://-example.com/',
  'https://ex!ample.com/',
  'https://*.example.com/',
  `https://${'a'.repeat(64)}.example.com/`,
  `https://${'a.'.repeat(127)}example.com/`,
];

/** A registered URL, and the URL that is stored, displayed and requested. */
const accepted: readonly (readonly [text: string, shownUrl: string])[] = [
  ['https://example.com', 'https://example.com'],
  ['https://example.com/', 'https://example.com/'],
  ['HTTPS://EXAMPLE.COM/Hook', 'https://example.com/Hook'],
  ['https://example.com./hook', 'https://example.com./hook'],
  ['https://example.com:8443/hook?token=1&b=@x', 'https://example.com:8443/hook?token=1&b=@x'],
  ['https://example.com:443/', 'https://example.com/'],
  ['https://hooks.my_host.example.com/%20', 'https://hooks.my_host.example.com/%20'],
  ['https://bücher.example/hook', 'https://xn--bcher-kva.example/hook'],
  ['https://例え.テスト/', 'https://xn--r8jz45g.xn--zckzah/'],
  ['https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example/'],
  ['https://8.8.8.8/', 'https://8.8.8.8/'],
  ['https://134744072/', 'https://8.8.8.8/'],
  ['https://8.8.2056/', 'https://8.8.8.8/'],
  ['https://0x08.0x08.0x08.0x08/', 'https://8.8.8.8/'],
  ['https://[2606:4700:4700::1111]:8443/', 'https://[2606:4700:4700::1111]:8443/'],
  ['https://[2606:4700:4700:0000:0000:0000:0000:1111]/', 'https://[2606:4700:4700::1111]/'],
  ['https://ｅｘａｍｐｌｅ．ｃｏｍ/hook', 'https://example.com/hook'],
  ['https://example。com/hook', 'https://example.com/hook'],
  ['https://exam\u200Bple.com/hook', 'https://example.com/hook'],
  ['https://exam\u00ADple.com/hook', 'https://example.com/hook'],
  ['https://exam%70le.com/hook', 'https://example.com/hook'],
  ['https://example.com/\u200Bhook\u202E', 'https://example.com/%E2%80%8Bhook%E2%80%AE'],
  ['https://example.com/a/../b/./c', 'https://example.com/b/c'],
  ['https://example.com/naïve?q=ü', 'https://example.com/na%C3%AFve?q=%C3%BC'],
  ['https://localhost.example.com/', 'https://localhost.example.com/'],
  [`https://example.com/${'p'.repeat(2_000)}`, `https://example.com/${'p'.repeat(2_000)}`],
];

async function refusal(promise: Promise<unknown>): Promise<DomainError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DomainError)) throw new Error(`Expected a DomainError, but the refusal was ${String(error)}`);
  return error;
}

const attempt = (egress: Egress, url: string) =>
  postWebhook(egress.dispatcher, { url, eventId: 'event', body: '{}', secrets: [newSecret()], serviceName: 'test' });

describe('registration of a URL', () => {
  const egress = createEgress({ allowedNetworks: [], resolve: everyNameIsPublic });
  after(() => egress.close());

  for (const url of [...literals, ...malformed]) {
    it(`refuses ${JSON.stringify(url.slice(0, 80))}`, async () => {
      expect(await refusal(egress.checkUrl(url))).to.include({ code: 'url_not_allowed', status: 422 });
    });
  }

  for (const [url, shownUrl] of accepted) {
    it(`accepts ${JSON.stringify(url.slice(0, 80))} as ${shownUrl.slice(0, 60)}`, async () => {
      expect(await egress.checkUrl(url)).to.equal(shownUrl);
      expect(await egress.checkUrl(shownUrl)).to.equal(shownUrl);
    });
  }

  it('refuses a URL with more than 2,048 characters in ASCII', async () => {
    const { code, message } = await refusal(egress.checkUrl(`https://example.com/${'ü'.repeat(400)}`));
    expect(code).to.equal('url_not_allowed');
    expect(message).to.match(/has 2420 characters/);
  });

  it('displays an allowed address in its usual form', async () => {
    const { checkUrl } = createEgress({ allowedNetworks: loopback });
    expect(await checkUrl('https://127.1:8443/hook')).to.equal('https://127.0.0.1:8443/hook');
  });

  const names: readonly (readonly [string, readonly string[] | Error, 'accepted' | 'refused'])[] = [
    ['a public address', ['93.184.215.14'], 'accepted'],
    ['public IPv4 and IPv6 addresses', ['93.184.215.14', '2606:4700::1111'], 'accepted'],
    ['a private address', ['10.0.0.1'], 'refused'],
    ['a public and a private address', ['93.184.215.14', '127.0.0.1'], 'refused'],
    ['a private and a public address', ['::1', '93.184.215.14'], 'refused'],
    ['the metadata service', ['169.254.169.254'], 'refused'],
    ['an invalid address', ['127.1'], 'refused'],
    ['no address', [], 'refused'],
    ['an error of the resolver', new Error('ENOTFOUND'), 'refused'],
  ];
  for (const [what, answer, expected] of names) {
    it(`is ${expected} if the name resolves to ${what}`, async () => {
      const lookups: string[] = [];
      const resolve: Resolve = async (name) => {
        lookups.push(name);
        if (answer instanceof Error) throw answer;
        return answer;
      };
      const check = createEgress({ allowedNetworks: [], resolve }).checkUrl('https://Hooks.Example.com./x');
      if (expected === 'accepted') await check;
      else expect((await refusal(check)).code).to.equal('url_not_allowed');
      expect(lookups).to.deep.equal(['hooks.example.com']);
    });
  }

  it('is refused with one message for unknown names and private addresses', async () => {
    const missing = createEgress({ allowedNetworks: [], resolve: async () => [] });
    const internal = createEgress({ allowedNetworks: [], resolve: async () => ['10.0.0.1'] });
    const messages = await Promise.all(
      [missing, internal].map(async ({ checkUrl }) => (await refusal(checkUrl('https://vault.corp/'))).message),
    );
    expect(messages[0]).to.equal(messages[1]);
  });

  it('fails after 5 s if the name server never answers', async () => {
    const over = new AbortController();
    const limits: number[] = [];
    const timeout = mock.method(AbortSignal, 'timeout', (milliseconds: number) => {
      limits.push(milliseconds);
      return over.signal;
    });
    try {
      const { checkUrl } = createEgress({ allowedNetworks: [], resolve: () => new Promise(() => {}) });
      const ended: DomainError[] = [];
      const soon = () => new Promise((resolve) => setImmediate(resolve));
      void refusal(checkUrl('https://example.com/')).then((error) => ended.push(error));
      await soon();
      expect([limits, ended]).to.deep.equal([[5_000], []]);
      over.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
      await soon();
      expect(ended).to.have.length(1);
      expect(ended[0]).to.include({ code: 'url_not_allowed' });
    } finally {
      timeout.mock.restore();
    }
  });

  it('accepts private addresses in the networks that the operator allows', async () => {
    const { checkUrl } = createEgress({ allowedNetworks: loopback, resolve: async () => ['127.0.0.1'] });
    await checkUrl('https://127.0.0.1:8443/');
    await checkUrl('https://localhost:8443/');
    await checkUrl('https://receiver.test/');
    expect((await refusal(checkUrl('https://10.0.0.1/'))).code).to.equal('url_not_allowed');
    expect((await refusal(checkUrl('https://[::1]/'))).code).to.equal('url_not_allowed');
    expect((await refusal(checkUrl('http://127.0.0.1:8443/'))).code).to.equal('url_not_allowed');
  });
});

describe('fetching a text over the guarded egress (CAMP-15)', () => {
  it('returns the body of a 200, and fails for any other status', async () => {
    const authority = await makeAuthority();
    const answers = ['200 OK', '404 Not Found', '302 Found\r\nLocation: https://receiver.test/'];
    const receiver = await startReceiver(await authority.issue(['receiver.test']), (socket, _, number) =>
      socket.write(`HTTP/1.1 ${answers[number - 1]}\r\nContent-Length: 4\r\n\r\ntext`),
    );
    const resolve: Resolve = async () => ['127.0.0.1'];
    const url = `https://receiver.test:${receiver.port}/a.pem?b=c`;
    const open = createEgress({ allowedNetworks: loopback, extraCa: authority.certificate, resolve });
    const outcomes = [];
    for (const _ of answers) outcomes.push(await getText(open.dispatcher, url).catch((error: Error) => error.message));
    expect(outcomes).to.deep.equal([
      'text',
      'The text could not be fetched: 404',
      'The text could not be fetched: 302',
    ]);
    expect(receiver.requests.map(({ line }) => line)).to.deep.equal(answers.map(() => 'GET /a.pem?b=c HTTP/1.1'));
    const guarded = createEgress({ allowedNetworks: [], extraCa: authority.certificate, resolve });
    const refused = await getText(guarded.dispatcher, url).catch((error: Error) => error.message);
    expect([refused, receiver.requests.length]).to.deep.equal([
      'The text could not be fetched: no answer',
      answers.length,
    ]);
    for (const egress of [open, guarded]) await egress.close();
    await receiver.stop();
  });
});

describe('the address check on each connection (DEL-7)', () => {
  let authority: Authority;
  before(async () => {
    authority = await makeAuthority();
  });

  it('refuses each spelling of an address that a registration refuses', async () => {
    const egress = createEgress({ allowedNetworks: [], resolve: everyNameIsPublic });
    for (const url of literals) {
      expect(await attempt(egress, url), url).to.include({ outcome: 'address_refused', errorCode: 'ADDRESS_REFUSED' });
    }
    await egress.close();
  });

  it('refuses any protocol except https', async () => {
    const egress = createEgress({ allowedNetworks: loopback, resolve: everyNameIsPublic });
    expect((await attempt(egress, 'http://127.0.0.1:9/')).outcome).to.equal('address_refused');
    await egress.close();
  });

  it('opens no connection if the name now resolves to a private address', async () => {
    const receiver = await startReceiver(await authority.issue(['receiver.test']), noContent);
    const answers = [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2']];
    const resolve: Resolve = async () => answers.shift() ?? [];
    const egress = createEgress({ allowedNetworks: ['127.0.0.1/32'], extraCa: authority.certificate, resolve });
    const url = `https://receiver.test:${receiver.port}/`;
    await egress.checkUrl(url);
    expect((await attempt(egress, url)).outcome).to.equal('succeeded');
    await egress.close();

    const again = createEgress({ allowedNetworks: ['127.0.0.1/32'], extraCa: authority.certificate, resolve });
    expect((await attempt(again, url)).outcome).to.equal('address_refused');
    expect(receiver.connections()).to.equal(1);
    await again.close();
    await receiver.stop();
  });

  for (const addresses of [
    ['127.0.0.1', '10.0.0.1'],
    ['10.0.0.1', '127.0.0.1'],
  ])
    it(`opens no connection to a name with the addresses ${addresses.join(' and ')}`, async () => {
      const receiver = await startReceiver(await authority.issue(['receiver.test']), noContent);
      const egress = createEgress({
        allowedNetworks: loopback,
        extraCa: authority.certificate,
        resolve: async () => addresses,
      });
      expect((await attempt(egress, `https://receiver.test:${receiver.port}/`)).outcome).to.equal('address_refused');
      await egress.close();
      expect(receiver.connections()).to.equal(0);
      await receiver.stop();
    });

  it('refuses 0.0.0.0, which connects to this machine', async () => {
    const receiver = await startReceiver(await authority.issue(['0.0.0.0']), noContent);
    const egress = createEgress({ allowedNetworks: ['0.0.0.0/32'], extraCa: authority.certificate });
    expect((await attempt(egress, `https://0.0.0.0:${receiver.port}/`)).outcome).to.equal('address_refused');
    expect(receiver.serverNames).to.deep.equal([]);
    await egress.close();
    await receiver.stop();
  });

  it('uses the second address of a name if the first address does not answer', async () => {
    const receiver = await startReceiver(await authority.issue(['receiver.test']), noContent);
    const resolve: Resolve = async () => ['127.0.0.9', '127.0.0.1'];
    const egress = createEgress({ allowedNetworks: loopback, extraCa: authority.certificate, resolve });
    expect((await attempt(egress, `https://receiver.test:${receiver.port}/`)).outcome).to.equal('succeeded');
    await egress.close();
    await receiver.stop();
  });

  it('records dns_error with the resolver’s code for a name that does not resolve', async () => {
    const failing: Resolve = async () => {
      throw Object.assign(new Error('queryA ENOTFOUND receiver.test'), { code: 'ENOTFOUND' });
    };
    for (const [resolve, errorCode] of [
      [failing, 'ENOTFOUND'],
      [async () => [], 'ENODATA'],
    ] as const) {
      const egress = createEgress({ allowedNetworks: [], resolve });
      expect(await attempt(egress, 'https://receiver.test/'), errorCode).to.include({
        outcome: 'dns_error',
        errorCode,
      });
      await egress.close();
    }
  });
});

describe('name resolution', () => {
  it('asks the name server for IPv4 and IPv6 addresses at each resolution', async () => {
    const answers: Record<string, readonly string[]> = { 'receiver.test': ['93.184.215.14', '2606:4700::1111'] };
    const server = await startNameServer((name) => answers[name]);
    const resolve = dnsResolver([server.address]);
    expect(await resolve('receiver.test')).to.deep.equal(['93.184.215.14', '2606:4700::1111']);
    answers['receiver.test'] = ['10.0.0.1'];
    expect(await resolve('receiver.test')).to.deep.equal(['10.0.0.1']);
    answers['receiver.test'] = ['2606:4700::1111'];
    expect(await resolve('receiver.test')).to.deep.equal(['2606:4700::1111']);
    expect(server.questions.filter((name) => name === 'receiver.test')).to.have.length(6);
    server.stop();
  });

  it('fails with ENODATA without an address, and with ENOTFOUND for an unknown name', async () => {
    const server = await startNameServer((name) => (name === 'empty.test' ? [] : undefined));
    const resolve = dnsResolver([server.address]);
    const codes = await Promise.all(
      ['empty.test', 'missing.test'].map((name) => resolve(name).catch((error: NodeJS.ErrnoException) => error.code)),
    );
    expect(codes).to.deep.equal(['ENODATA', 'ENOTFOUND']);
    server.stop();
  });

  it('resolves a name without delay while another name server does not answer', async () => {
    const server = await startNameServer((name) => (name.endsWith('.silent.test') ? 'silence' : ['93.184.215.14']));
    const resolve = dnsResolver([server.address]);
    const names = Array.from({ length: 20 }, (_, index) => `${index}.silent.test`);
    const order: string[] = [];
    const silent = names.map((name) =>
      resolve(name).catch((error: NodeJS.ErrnoException) => order.push(`${error.code}`)),
    );
    expect(await resolve('healthy.test')).to.deep.equal(['93.184.215.14']);
    order.push('healthy');
    await Promise.all(silent);
    expect(order).to.deep.equal(['healthy', ...names.map(() => 'ETIMEOUT')]);
    // Two questions for IPv4 and two for IPv6, after 2 s and 4 s. So it fails before the attempt's limit of 15 s.
    const questionCounts = names.map((name) => server.questions.filter((question) => question === name).length);
    expect(questionCounts).to.deep.equal(names.map(() => 4));
    server.stop();
  }).timeout(15_000);
});
