/** Builds a club for the test of the event catalogue. A real worker sends all events of the club to a real receiver. */
import { expect } from 'chai';
import { isSignedWith, type Receiver } from '../../../dev/clients/receiver.ts';
import { eventTypes, type EventType } from '../../../platform/core/event-types.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { eventFaults } from '../assert/contract-schemas.ts';
import { buildClub, type TestClub } from '../builders/clubs.ts';
import { testDatabase } from '../stack/database.ts';
import { buildEndpoint, type TestEndpoint } from '../builders/webhooks.ts';
import { until } from './until.ts';

const patienceMs = 20_000;
/** The tax number of every buyer in these tests. Notices contain this number, but the service must never send it to anyone. */
export const taxDocument = '529.982.247-25';

/** An event that arrived with a valid signature, and that its schema allows. */
export interface ArrivedEvent {
  type: EventType;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of a body that its schema has just confirmed
  data: any;
}

export interface ListeningClub extends TestClub {
  /** @returns the events of the act in the order of their facts, with verified signatures and bodies */
  eventsOf(act: () => Promise<unknown>): Promise<ArrivedEvent[]>;
}

/** @returns a club with an endpoint at this receiver that subscribes to every type */
export async function openListeningClub(receiver: Receiver): Promise<ListeningClub> {
  const club = await buildClub();
  const path = `/${club.id}`;
  const endpoint = await buildEndpoint(club.id, receiver.url + path, eventTypes);
  const arrived = () => receiver.requests.filter((request) => request.path === path);

  return {
    ...club,
    async eventsOf(act) {
      await untilQuiet(club.id);
      const before = arrived().length;
      await act();
      await untilQuiet(club.id);
      return arrived()
        .slice(before)
        .map((request) => verified(endpoint, request))
        .toSorted((one, other) => one.id.localeCompare(other.id)) // ids of facts are in the order of their creation
        .map(({ type, data }) => ({ type, data }));
    },
  };
}

/** Resolves when the club has no waiting fact, wake, delivery, notice or import. */
async function untilQuiet(clubId: Id): Promise<void> {
  const { manager } = await testDatabase();
  await until('the end of all effects of the act', { timeoutMs: patienceMs }, async () => {
    const [row] = await manager.query<{ busy: boolean }[]>(
      `SELECT EXISTS (SELECT FROM facts WHERE club_id = $1)
           OR EXISTS (SELECT FROM webhook_deliveries WHERE club_id = $1 AND status = 'pending')
           OR EXISTS (SELECT FROM wakes WHERE club_id = $1 AND workflow_type <> 'transactionalMail') AS busy`,
      [clubId],
    );
    return row?.busy === false;
  });
}

function verified(endpoint: TestEndpoint, request: Receiver['requests'][number]): ArrivedEvent & { id: string } {
  expect(isSignedWith(endpoint.secret, request), 'the signature').to.equal(true);
  const body = JSON.parse(request.body.toString('utf8')) as ArrivedEvent & { id: string };
  expect(eventFaults(body.type, body), body.type).to.deep.equal([]);
  expect(request.headers['webhook-id']).to.equal(body.id);
  expect(request.body.toString('utf8'), 'the tax document').not.to.include(taxDocument);
  return body;
}
