import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eventTypes } from '../../platform/core/event-types.ts';
import { claimAttempt } from '../../domain/webhooks/attempts/claims.ts';
import { dnsResolver } from '../../platform/infra/egress/egress.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildWebhookDelivery, factAbout } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { callAt, clock, expectError } from '../toolkit/drive/api.ts';
import {
  noEndpointsOf,
  oneAfterAnother,
  openEndpointScene,
  publicUrl,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';
import { startNameServer } from '../toolkit/fakes/name-server.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const minute = 60_000;
const otherUrl = 'https://93.184.216.35/other?a=b&c=%20d';

describe('PATCH /v1/clubs/{clubId}/webhook-endpoints/{endpointId}', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });
  const change = (body: unknown) => scene.webhooks.change(id, body);

  describe('200', () => {
    const changes = {
      url: { url: otherUrl },
      event_types: { event_types: ['student.removed', 'access.granted'] },
      description: { description: 'Our CRM' },
      'all three fields together': { url: otherUrl, event_types: ['course.completed'], description: 'Theirs' },
    } as const;
    for (const [title, body] of Object.entries(changes)) {
      it(`changes only ${title} and updated_at, and returns the complete record`, async () => {
        await alter('webhook_endpoints', id, { description: 'before' });
        const before = (await scene.webhooks.read(id)).body.data;
        clock.advance(minute);
        const { status, body: answer } = await change(body);
        expect(status).to.equal(200);
        const { updated_at: updatedAt } = answer.data;
        expect(answer.data).to.deep.equal({ ...before, ...body, updated_at: updatedAt });
        expect(Date.parse(updatedAt) - Date.parse(before.updated_at)).to.be.at.least(minute);
        expect((await scene.webhooks.read(id)).body.data).to.deep.equal(answer.data);
      });
    }

    it('removes the description if the new value is an empty text', async () => {
      await change({ description: 'Our CRM' });
      expect((await change({ description: '' })).body.data).to.not.have.property('description');
      expect((await endpointRow(id)).description).to.equal(null);
    });

    it('accepts a url of 2048 characters, a description of 200 and every event type', async () => {
      const bounds = {
        url: publicUrl + '/'.padEnd(2048 - publicUrl.length, 'x'),
        description: 'd'.repeat(200),
        event_types: [...eventTypes],
      };
      expect(bounds.url).to.have.length(2048);
      expect((await change(bounds)).body.data).to.deep.include(bounds);
    });

    it('does not change state, failures, secrets and queue', async () => {
      await alter('webhook_endpoints', id, {
        status: 'paused',
        consecutive_failures: 7,
        failing_since: new Date(),
        hold_until: new Date(Date.now() + minute),
        breaker_step: 3,
        breaker_epoch: 4,
        last_success_at: new Date(),
      });
      await buildWebhookDelivery(scene.subscription);
      const before = await endpointRow(id);
      const answer = await change({ url: otherUrl, event_types: ['course.completed'], description: 'Our CRM' });
      expect(answer.body.data.pending_deliveries).to.equal(1);
      const after = await endpointRow(id);
      const newFields = { url: otherUrl, eventTypes: ['course.completed'], description: 'Our CRM' };
      expect(after).to.deep.equal(Object.assign(before, newFields, { updatedAt: after.updatedAt }));
    });

    it('changes a disabled endpoint, and leaves it disabled', async () => {
      await scene.webhooks.disable(id);
      expect((await change({ url: otherUrl })).body.data).to.include({ url: otherUrl, status: 'disabled' });
    });

    it('lets pending deliveries go to the new url at their next attempt, and wakes no run', async () => {
      const delivery = await buildWebhookDelivery(scene.subscription);
      expect(await wakesBy(scene.club.id, () => change({ url: otherUrl }))).to.deep.equal([]);
      expect((await claimAttempt(await testDatabase(), delivery.id, Date.now()))?.url).to.equal(otherUrl);
    });

    it('applies new event types to later facts only', async () => {
      const { db } = await testDeps();
      const waiting = await buildWebhookDelivery(scene.subscription);
      await change({ event_types: ['student.created'] });
      const endpointsOfFact = async (type: 'student.created' | 'student.updated') =>
        (await fanOut(db, factAbout(scene.subscription, type), new Date())).map(({ endpointId }) => endpointId);
      expect(await endpointsOfFact('student.updated')).to.deep.equal([]);
      expect(await endpointsOfFact('student.created')).to.deep.equal([id]);
      expect((await deliveryRow(waiting.id)).status).to.equal('pending');
    });

    it('shows no secret', async () => {
      expect((await change({ description: 'x' })).text)
        .to.not.include('secret')
        .and.not.include('whsec_');
    });

    it('applies three simultaneous changes of different fields', async () => {
      const answers = await oneAfterAnother(id, [
        () => change({ url: otherUrl }),
        () => change({ event_types: ['course.completed'] }),
        () => change({ description: 'Our CRM' }),
      ]);
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
      expect((await scene.webhooks.read(id)).body.data).to.deep.include({
        url: otherUrl,
        event_types: ['course.completed'],
        description: 'Our CRM',
      });
    });

    it('applies the later of two simultaneous changes of one field', async () => {
      const [first, second] = [publicUrl, otherUrl].map((url) => ({ url, description: `for ${url}` }));
      await oneAfterAnother(id, [() => change(first), () => change(second)]);
      expect((await scene.webhooks.read(id)).body.data).to.deep.include(second);
    });
  });

  describe('404', () => {
    it('has the same text for every endpoint that is unknown, deleted or of another club', async () => {
      await eachCase([{ url: otherUrl }, { description: 'x' }, { event_types: ['student.created'] }], async (body) => {
        const answers = [];
        for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks.change(unknown, body));
        await eachCase(answers, (answer) => expectError(answer, 'not_found'));
        expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      });
    });

    it('is returned for an endpoint of another club, and does not change it', async () => {
      const foreign = (await openEndpointScene()).endpoint;
      const before = await endpointRow(foreign.id);
      await scene.webhooks.change(foreign.id, { url: otherUrl, description: 'x' });
      expect(await endpointRow(foreign.id)).to.deep.equal(before);
    });
  });

  describe('400 and 422', () => {
    const good = { description: 'changed' };
    let before: unknown;
    beforeEach(async () => {
      before = await endpointRow(id);
    });
    afterEach(async () => {
      expect(await endpointRow(id)).to.deep.equal(before);
    });

    it('returns 422 for an empty change', async () => {
      expectError(await change({}), 'invalid_request');
    });

    it('returns 422 for an event_types list that is empty or has a repeated or unknown type', async () => {
      await eachCase(
        [[], ['student.created', 'student.created'], ['*'], ['student.*'], ['student.promoted'], ['webhook.test']],
        async (types) => {
          const answer = await change({ ...good, event_types: types });
          expectError(answer, 'invalid_request');
          expect(answer.body.error.message).to.match(/^event_types/);
        },
      );
    });

    it('returns 422 for a url of 0 or 2049 characters and a description of 201', async () => {
      const bad = { url: ['', publicUrl.padEnd(2049, 'x')], description: ['d'.repeat(201)] };
      await eachCase(Object.entries(bad), async ([field, values]) =>
        eachCase(values, async (value) => {
          const answer = await change({ ...good, [field]: value });
          expectError(answer, 'invalid_request');
          expect(answer.body.error.message).to.match(new RegExp(`^${field}`));
        }),
      );
    });

    it('returns 422 url_not_allowed for private and reserved addresses, other protocols and credentials', async () => {
      await eachCase(
        [
          'https://10.0.0.1/',
          'https://127.0.0.1/',
          'https://localhost/',
          'https://169.254.169.254/latest/meta-data/',
          'https://[::1]/',
          'https://[::ffff:10.0.0.1]/',
          'https://2130706433/',
          'http://93.184.216.34/',
          'https://user:pass@93.184.216.34/',
          'hooks',
        ],
        async (url) =>
          expectError(await change({ ...good, event_types: ['course.completed'], url }), 'url_not_allowed'),
      );
    });

    it('returns 422 url_not_allowed for a name with a private address, even next to a public address', async () => {
      const hosts: Record<string, string[]> = {
        'private.example.test': ['192.168.1.1'],
        'mixed.example.test': ['93.184.216.34', '127.0.0.1'],
      };
      const names = await startNameServer((name) => hosts[name]);
      const api = await serveApp({ resolve: dnsResolver([names.address]) });
      try {
        await eachCase([...Object.keys(hosts), 'unknown.example.test'], async (host) => {
          const path = `/v1/clubs/${scene.club.id}/webhook-endpoints/${id}`;
          const body = { ...good, url: `https://${host}/` };
          expectError(
            await callAt(api.base, 'PATCH', path, { token: scene.club.owner.token, body }),
            'url_not_allowed',
          );
        });
      } finally {
        await api.close();
        names.stop();
      }
    });

    it('returns 400 for unknown properties, and for state, secret and counters', async () => {
      await eachCase(
        [
          { status: 'disabled' },
          { secret: 'whsec_AAAA' },
          { id: newId() },
          { disabled_reason: 'manual' },
          { consecutive_failures: 0 },
          { hold_until: null },
          { club_id: newId() },
        ],
        async (extra) => expectError(await change({ ...good, ...extra }), 'malformed_request'),
      );
    });

    it('returns 400 for a wrong JSON type and for null', async () => {
      await eachCase(
        [
          { url: 1 },
          { url: null },
          { description: null },
          { description: ['x'] },
          { event_types: 'student.created' },
          { event_types: null },
          { event_types: [1] },
        ],
        async (bad) => expectError(await change({ ...good, ...bad }), 'malformed_request'),
      );
    });
  });
});
