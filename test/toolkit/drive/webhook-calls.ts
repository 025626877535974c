/** Calls the operations on a club's webhook endpoints as its owner, at the time of the test clock. */
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { openSession } from '../../../domain/identity/sessions/sessions.ts';
import { buildClub, buildStudent, type TestClub } from '../builders/clubs.ts';
import { call, clock, type Answer } from './api.ts';
import { testDatabase } from '../stack/database.ts';
import {
  buildEndpoint,
  buildWebhookDelivery,
  buildSubscription,
  type TestEndpoint,
  type Subscription,
} from '../builders/webhooks.ts';
import { withOpenTransaction, untilWaitingForLocks } from './races.ts';

/** A public IP address, so that the registration needs no name server. The tests send nothing to this address. */
export const publicUrl = 'https://93.184.216.34/hooks/club';

type OnEndpoint = (endpointId: Id) => Promise<Answer>;

interface Webhooks {
  register(body?: object): Promise<Answer>;
  list(): Promise<Answer>;
  read: OnEndpoint;
  change(endpointId: Id, body: unknown): Promise<Answer>;
  remove: OnEndpoint;
  enable: OnEndpoint;
  pause: OnEndpoint;
  disable: OnEndpoint;
  rotate(endpointId: Id, body?: unknown): Promise<Answer>;
  sendTest: OnEndpoint;
  resend(endpointId: Id, deliveryId: Id): Promise<Answer>;
  recover(endpointId: Id, since: Date | string): Promise<Answer>;
  deliveries: OnEndpoint;
  delivery(endpointId: Id, deliveryId: Id): Promise<Answer>;
}

function webhooksOf(club: TestClub): Webhooks {
  const session = sessionOf(club);
  const send = async (method: string, path: string, body?: unknown) =>
    call(method, `/v1/clubs/${club.id}/webhook-endpoints${path}`, { token: await session(), body });
  return {
    register: (body = { url: publicUrl, event_types: ['student.created'] }) => send('POST', '', body),
    list: () => send('GET', ''),
    read: (id) => send('GET', `/${id}`),
    change: (id, body) => send('PATCH', `/${id}`, body),
    remove: (id) => send('DELETE', `/${id}`),
    enable: (id) => send('POST', `/${id}/enable`),
    pause: (id) => send('POST', `/${id}/pause`),
    disable: (id) => send('POST', `/${id}/disable`),
    rotate: (id, body = {}) => send('POST', `/${id}/rotate-secret`, body),
    sendTest: (id) => send('POST', `/${id}/test`),
    resend: (id, deliveryId) => send('POST', `/${id}/deliveries/${deliveryId}/resend`),
    recover: (id, since) => send('POST', `/${id}/recover`, { since }),
    deliveries: (id) => send('GET', `/${id}/deliveries`),
    delivery: (id, deliveryId) => send('GET', `/${id}/deliveries/${deliveryId}`),
  };
}

/** An owner who signs in again after the test has moved the clock, because an administrator's session lasts only 12 hours. */
function sessionOf({ owner }: TestClub): () => Promise<string> {
  let session = { token: owner.token, openedAt: Date.now() };
  return async () => {
    if (Math.abs(clock.now().getTime() - session.openedAt) > 3_600_000) {
      const source = await testDatabase();
      const now = clock.now();
      const { token } = await source.transaction((tx) => openSession(new Transaction(tx), 'admin', owner.id, now));
      session = { token, openedAt: now.getTime() };
    }
    return session.token;
  };
}

/** A club with a student and an enabled endpoint, and the operations on it. */
export interface EndpointScene {
  club: TestClub;
  webhooks: Webhooks;
  subscription: Subscription;
  endpoint: TestEndpoint;
}

export async function openEndpointScene(url = publicUrl): Promise<EndpointScene> {
  const club = await buildClub();
  const [{ id: studentId }, endpoint] = [await buildStudent(club.id), await buildEndpoint(club.id, url)];
  return { club, webhooks: webhooksOf(club), endpoint, subscription: { clubId: club.id, studentId, endpoint } };
}

/** Ids that are not endpoints of the club: an unknown id, another club's endpoint, and a deleted endpoint. */
export async function noEndpointsOf({ club, webhooks }: EndpointScene): Promise<Id[]> {
  const [foreign, deleted] = [await buildSubscription(publicUrl), await buildEndpoint(club.id, publicUrl)];
  await webhooks.remove(deleted.id);
  return [newId(), foreign.endpoint.id, deleted.id];
}

/** Ids that are not deliveries of the endpoint: an unknown id, a delivery of another club, and a delivery of another endpoint. */
export async function noDeliveriesOf({ club, subscription }: EndpointScene): Promise<Id[]> {
  const foreign = await buildWebhookDelivery(await buildSubscription(publicUrl));
  const neighbour = { ...subscription, endpoint: await buildEndpoint(club.id, publicUrl) };
  return [newId(), foreign.id, (await buildWebhookDelivery(neighbour)).id];
}

/**
 * Sends requests that all need the row of an endpoint. Each request waits for the row before the next request begins. Then all requests
 * continue in the order in which they began.
 */
export async function oneAfterAnother<const Begin extends readonly (() => Promise<Answer>)[]>(
  endpointId: Id,
  begin: Begin,
): Promise<{ [Place in keyof Begin]: Answer }> {
  const requests: Promise<Answer>[] = [];
  await withOpenTransaction(
    (tx) => tx.manager.query(`SELECT FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE`, [endpointId]),
    async () => {
      for (const start of begin) {
        requests.push(start());
        await untilWaitingForLocks(requests.length);
      }
    },
  );
  const answers: unknown = await Promise.all(requests);
  return answers as { [Place in keyof Begin]: Answer };
}
