import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eventTypes } from '../../platform/core/event-types.ts';
import { dnsResolver } from '../../platform/infra/egress/egress.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildEndpoint, buildSubscription, buildWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, callAt, expectError, type Answer } from '../toolkit/drive/api.ts';
import { allAtOnce } from '../toolkit/drive/races.ts';
import { startNameServer, type NameServer } from '../toolkit/fakes/name-server.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { columnsHolding, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

/** A public address, so that a registration needs no name server. The test never sends to this address. */
const publicUrl = 'https://93.184.216.34/hooks/club';
const good = { url: publicUrl, event_types: ['student.created'] };

const register = (club: TestClub, body: object): Promise<Answer> =>
  call('POST', `/v1/clubs/${club.id}/webhook-endpoints`, { token: club.owner.token, body });
const list = (club: TestClub, query = ''): Promise<Answer> =>
  call('GET', `/v1/clubs/${club.id}/webhook-endpoints${query}`, { token: club.owner.token });
const read = (club: TestClub, id: string): Promise<Answer> =>
  call('GET', `/v1/clubs/${club.id}/webhook-endpoints/${id}`, { token: club.owner.token });

describe('POST /v1/clubs/{clubId}/webhook-endpoints', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('201', () => {
    it('registers an enabled endpoint, and returns the complete record and the secret', async () => {
      const { status, body } = await register(club, { ...good, description: 'Our CRM' });
      expect(status).to.equal(201);
      const { endpoint, secret } = body.data;
      expect(endpoint).to.deep.equal({
        id: endpoint.id,
        url: publicUrl,
        description: 'Our CRM',
        event_types: ['student.created'],
        status: 'enabled',
        consecutive_failures: 0,
        pending_deliveries: 0,
        created_at: endpoint.created_at,
        updated_at: endpoint.created_at,
      });
      expect((await read(club, endpoint.id)).body.data).to.deep.equal(endpoint);
      expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    });

    it('generates a secret of 32 bytes, stores it encrypted and shows it only once', async () => {
      const { body } = await register(club, good);
      const { endpoint, secret } = body.data;
      expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).to.have.length(32);
      await eachCase([secret, secret.slice('whsec_'.length)], async (part) =>
        expect(await columnsHolding(part)).to.deep.equal([]),
      );
      const source = await testDatabase();
      const [row] = await source.query<{ secret: Buffer }[]>(`SELECT secret FROM webhook_endpoints WHERE id = $1`, [
        endpoint.id,
      ]);
      const raw = Buffer.from(secret.slice('whsec_'.length), 'base64');
      expect(row?.secret.includes(raw)).to.equal(false);
      const { vault } = await testDeps();
      expect(vault.open(row?.secret ?? Buffer.alloc(0), endpoint.id)).to.equal(secret);
      await eachCase([await read(club, endpoint.id), await list(club)], (answer) =>
        expect(answer.text).to.not.include(secret).and.not.include('whsec_'),
      );
    });

    it('generates a different secret for each endpoint', async () => {
      const secrets = [];
      for (let index = 0; index < 3; index++) secrets.push((await register(club, good)).body.data.secret);
      expect(new Set(secrets).size).to.equal(3);
    });

    it('accepts a url of 2048 characters, a description of up to 200 characters, and every event type', async () => {
      const longest = publicUrl + '/'.padEnd(2048 - publicUrl.length, 'x');
      expect(longest).to.have.length(2048);
      const bodies = [
        { ...good, url: longest },
        { ...good, description: 'd'.repeat(200) },
        { ...good, description: '' },
        { ...good, event_types: [...eventTypes] },
      ];
      await eachCase(bodies, async (body) => {
        const { status, body: answer } = await register(club, body);
        expect(status).to.equal(201);
        expect(answer.data.endpoint).to.include({ url: body.url });
        expect(answer.data.endpoint.event_types).to.deep.equal(body.event_types);
      });
    });

    it('stores the url unchanged', async () => {
      const url = 'https://93.184.216.34:8443/Hooks/%7Eclub?a=b&c=%20d';
      expect((await register(club, { ...good, url })).body.data.endpoint.url).to.equal(url);
    });
  });

  describe('409', () => {
    it('returns endpoint_limit_reached beyond 20 endpoints in a club, and writes nothing', async () => {
      for (let index = 0; index < 19; index++) await buildEndpoint(club.id, publicUrl);
      expect((await register(club, good)).status).to.equal(201);
      const before = await rowCounts();
      expectError(await register(club, good), 'endpoint_limit_reached');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await register(await buildClub(), good)).status).to.equal(201);
    });

    it('returns endpoint_limit_reached to two of three simultaneous requests of a club with 19 endpoints', async () => {
      for (let index = 0; index < 19; index++) await buildEndpoint(club.id, publicUrl);
      const answers = await allAtOnce(club.id, () => [
        register(club, good),
        register(club, good),
        register(club, good),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 409, 409]);
      expect((await list(club)).body.total).to.equal(20);
    });

    it('returns endpoint_limit_reached even if one of the 20 endpoints is disabled', async () => {
      const endpoints = await Promise.all(Array.from({ length: 20 }, () => buildEndpoint(club.id, publicUrl)));
      await alter('webhook_endpoints', endpoints[0]?.id ?? '', { status: 'disabled', disabled_reason: 'manual' });
      expectError(await register(club, good), 'endpoint_limit_reached');
    });
  });

  describe('400 and 422', () => {
    let before: Record<string, number>;
    beforeEach(async () => {
      before = await rowCounts();
    });
    afterEach(async () => {
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 422 for a url of 0 or 2049 characters and for a description of 201 characters', async () => {
      await eachCase(
        [
          { ...good, url: '' },
          { ...good, url: publicUrl.padEnd(2049, 'x') },
          { ...good, description: 'd'.repeat(201) },
        ],
        async (body) => expectError(await register(club, body), 'invalid_request'),
      );
    });

    const wrongTypes: Record<string, unknown[]> = {
      'an empty list': [],
      'the wildcard *': ['*'],
      'student.*': ['student.*'],
      'webhook.test, which cannot be subscribed': ['webhook.test'],
      'an unknown type': ['student.promoted'],
      'an unknown type among known types': ['student.created', 'student.promoted'],
      'another case': ['Student.Created'],
      'one type twice': ['student.created', 'student.created'],
      'an empty name': [''],
    };
    for (const [title, types] of Object.entries(wrongTypes)) {
      it(`returns 422 for event_types with ${title}`, async () => {
        const answer = await register(club, { ...good, event_types: types });
        expectError(answer, 'invalid_request');
        expect(answer.body.error.message).to.match(/^event_types/);
      });
    }

    it('returns 400 if event_types has a wrong JSON type', async () => {
      await eachCase(
        ['student.created', { 0: 'student.created' }, [1], [null], [['student.created']], null],
        async (types) => expectError(await register(club, { ...good, event_types: types }), 'malformed_request'),
      );
    });

    it('returns 400 if the request contains a status, a secret or an id', async () => {
      await eachCase([{ status: 'disabled' }, { secret: 'whsec_AAAA' }, { id: newId() }], async (extra) =>
        expectError(await register(club, { ...good, ...extra }), 'malformed_request'),
      );
    });

    const refused: Record<string, readonly string[]> = {
      'not https': [
        'http://93.184.216.34/',
        'ftp://93.184.216.34/',
        'wss://93.184.216.34/',
        'javascript:alert(1)',
        '//93.184.216.34/',
      ],
      'no url': ['hooks', '/hooks', 'https://', 'https:///hooks', 'https://exa mple.com/', 'https:93.184.216.34'],
      credentials: ['https://user@93.184.216.34/', 'https://user:pass@93.184.216.34/', 'https://:pass@93.184.216.34/'],
      localhost: ['https://localhost/', 'https://LOCALHOST:8443/', 'https://localhost./', 'https://api.localhost/'],
      'a private or reserved address': [
        'https://127.0.0.1/',
        'https://10.0.0.1/',
        'https://172.16.0.1/',
        'https://192.168.1.1/',
        'https://169.254.169.254/latest/meta-data/',
        'https://100.64.0.1/',
        'https://0.0.0.0/',
        'https://255.255.255.255/',
        'https://224.0.0.1/',
        'https://[::1]/',
        'https://[::]/',
        'https://[fe80::1]/',
        'https://[fd00::1]/',
        'https://[::ffff:127.0.0.1]/',
        'https://[64:ff9b::7f00:1]/',
      ],
      'an unusual spelling of a private address': [
        'https://2130706433/',
        'https://0x7f.1/',
        'https://0177.0.0.1/',
        'https://127.1/',
        'https://①②⑦.0.0.1/',
        'https://127.0.0.1./',
      ],
    };
    for (const [title, urls] of Object.entries(refused)) {
      it(`returns 422 url_not_allowed for ${title}`, async () => {
        await eachCase(urls, async (url) => {
          const answer = await register(club, { ...good, url });
          expect(answer.body?.error?.code).to.equal('url_not_allowed');
          expectError(answer, 'url_not_allowed');
        });
      });
    }
  });

  describe('host names', () => {
    const hosts: Record<string, readonly string[]> = {
      'public.example.test': ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
      'private.example.test': ['10.1.2.3'],
      'private6.example.test': ['fd00::1'],
      'mixed.example.test': ['93.184.216.34', '127.0.0.1'],
    };
    let names: NameServer;
    let api: ServedApp;
    before('start a name server and an API that uses it', async () => {
      names = await startNameServer((name) => hosts[name]);
      api = await serveApp({ resolve: dnsResolver([names.address]) });
    });
    after(async () => {
      await api.close();
      names.stop();
    });
    const registerName = (url: string) =>
      callAt(api.base, 'POST', `/v1/clubs/${club.id}/webhook-endpoints`, {
        token: club.owner.token,
        body: { ...good, url },
      });

    it('are accepted with public addresses', async () => {
      expect((await registerName('https://public.example.test/hooks')).status).to.equal(201);
    });

    it('are refused with the same 422 url_not_allowed, whether they are unknown or have private addresses', async () => {
      const answers = [];
      for (const name of ['unknown', 'private', 'private6', 'mixed']) {
        answers.push(await registerName(`https://${name}.example.test/hooks`));
      }
      await eachCase(answers, (answer) => expectError(answer, 'url_not_allowed'));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      expect((await list(club)).body.total).to.equal(0);
    });
  });
});

describe('GET /v1/clubs/{clubId}/webhook-endpoints', () => {
  it('lists complete records of this club’s endpoints, oldest first, in pages', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    await register(other, good);
    const created = [];
    for (const description of ['first', 'second', 'third']) {
      created.push((await register(club, { ...good, description })).body.data.endpoint);
    }
    expect((await list(club)).body).to.deep.equal({ data: created, total: 3 });
    const second = await list(club, '?page=2&page_size=2');
    expect(second.body).to.deep.equal({ data: [created[2]], total: 3 });
  });
});

describe('GET /v1/clubs/{clubId}/webhook-endpoints/{endpointId}', () => {
  describe('200', () => {
    it('counts pending deliveries', async () => {
      const subscription = await buildSubscription(publicUrl);
      const member = await buildMember(subscription.clubId, 'admin');
      await buildWebhookDelivery(subscription);
      const otherDelivery = await buildWebhookDelivery(subscription);
      await alter('webhook_deliveries', otherDelivery.id, { status: 'succeeded' });
      const path = `/v1/clubs/${subscription.clubId}/webhook-endpoints/${subscription.endpoint.id}`;
      expect((await call('GET', path, { token: member.token })).body.data.pending_deliveries).to.equal(1);
    });

    it('shows every optional field for which the endpoint has a value', async () => {
      const club = await buildClub();
      const { id } = await buildEndpoint(club.id, publicUrl);
      const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 12, minute));
      await alter('webhook_endpoints', id, {
        status: 'disabled',
        disabled_reason: 'failing',
        disabled_at: at(1),
        consecutive_failures: 7,
        failing_since: at(2),
        hold_until: new Date(Date.UTC(2126, 2, 1)),
        last_success_at: at(4),
        previous_secret_expires_at: new Date(Date.UTC(2126, 2, 2)),
      });
      expect((await read(club, id)).body.data).to.include({
        status: 'disabled',
        disabled_reason: 'failing',
        disabled_at: '2026-03-01T12:01:00.000Z',
        consecutive_failures: 7,
        failing_since: '2026-03-01T12:02:00.000Z',
        hold_until: '2126-03-01T00:00:00.000Z',
        last_success_at: '2026-03-01T12:04:00.000Z',
        previous_secret_expires_at: '2126-03-02T00:00:00.000Z',
      });
    });
  });

  it('returns the same 404 text for an unknown endpoint and an endpoint of another club', async () => {
    const club = await buildClub();
    const foreign = await buildEndpoint((await buildClub()).id, publicUrl);
    const answers = [await read(club, newId()), await read(club, foreign.id)];
    await eachCase(answers, (answer) => expectError(answer, 'not_found'));
    expect(answers[0]?.text).to.equal(answers[1]?.text);
  });
});
