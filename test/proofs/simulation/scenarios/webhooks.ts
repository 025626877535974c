/** The scenario of deliveries and gates: receivers accept, refuse and hang, and administrators change endpoints. */
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import type { AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../../../domain/webhooks/endpoints/secrets.ts';
import { recoverDeliveries, resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import { disableEndpoint, enableEndpoint, pauseEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { recordFact } from '../../../../platform/engine/facts.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { type Command, type Stage, mustHold } from '../stage.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';

type Mood = 'accepts' | 'fails' | 'asks for time' | 'answers late';

interface SeenRequest {
  eventId: Id;
  endpointId: Id;
  at: number;
  endedAt: number | undefined;
  answer: AttemptAnswer;
  /** The fence of the claim. */
  fence: number;
  leaseUntil: number;
}

const answers = {
  accepts: { outcome: 'succeeded', responseStatus: 200, responseExcerpt: '', durationMs: 5 },
  fails: { outcome: 'http_error', responseStatus: 500, responseExcerpt: '', durationMs: 5 },
  'asks for time': {
    outcome: 'http_error',
    responseStatus: 503,
    responseExcerpt: '',
    retryAfterSeconds: 600,
    durationMs: 5,
  },
  'answers late': { outcome: 'succeeded', responseStatus: 200, responseExcerpt: '', durationMs: 14_000 },
} as const satisfies Record<Mood, AttemptAnswer>;

const leaseMs = 25_000;

/** The numbers of all commands. Other schedules choose from only a few commands, and so combine related commands more often. */
const all = Array.from({ length: 16 }, (_, number) => number);
const [tellCommand, failCommand, acceptCommand, pauseCommand, enableCommand, resendCommand, recoverCommand] = [
  0, 5, 7, 9, 10, 13, 14,
];
/** The commands of a schedule in which an endpoint is first paused and then gets facts, so that its deliveries park. */
const ofPaused = [tellCommand, tellCommand, pauseCommand, enableCommand];
const choices = [
  all,
  ofPaused,
  ofPaused,
  [tellCommand, failCommand, resendCommand, resendCommand],
  [tellCommand, failCommand, acceptCommand, enableCommand, recoverCommand, recoverCommand],
] as const;

const lanes = {
  workflow: () => false,
  direct: () => true,
  mixed: (worker: string) => worker.endsWith('1'),
} as const satisfies Record<string, (worker: string) => boolean>;

export const webhooks = scenarioOn('workflow');
export const webhooksDirectly = scenarioOn('direct');
export const webhooksOnBothLanes = scenarioOn('mixed');

function scenarioOn(lane: keyof typeof lanes): (sim: Simulation, ground: Footing) => Promise<Stage> {
  return (sim, ground) => deliveries(sim, ground, lanes[lane]);
}

async function deliveries(
  sim: Simulation,
  ground: Footing,
  hasDirectLane: (worker: string) => boolean,
): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 3);
  const commandNumbers = sim.isPaced ? sim.decisions.pick(choices) : all;
  const endpoints = commandNumbers === all ? [newId(), newId()] : [newId()];
  for (const id of endpoints) {
    await sim.postgres.ask(
      `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, status, created_at, updated_at)
       VALUES ($1, $2, $5, '{student.created,student.updated,student.removed}', $3, $6, $4, $4)`,
      [
        id,
        clubId,
        ground.vault.seal(newSecret(), id),
        new Date(sim.time.now),
        `https://receiver.test/${id}`,
        commandNumbers === ofPaused ? 'paused' : 'enabled',
      ],
    );
  }
  const moods = new Map<Id, Mood>(endpoints.map((id) => [id, 'accepts']));
  const seenRequests: SeenRequest[] = [];
  const facts = new Set<Id>();
  const removed = new Set<Id>();
  /** Extra attempts that commands requested, by delivery. */
  const besides = new Map<Id, number>();
  const deps = { db: sim.db, vault: ground.vault };
  const now = () => new Date(sim.time.now);

  async function post(message: { url: string; eventId: Id }): Promise<AttemptAnswer> {
    const endpointId = message.url.split('/').at(-1) ?? '';
    let request: SeenRequest | undefined;
    const lease = await leaseOf(message.eventId, endpointId);
    const begunAt = sim.time.now;
    const answer = await sim.outside(`POST ${message.eventId} to ${endpointId}`, () => {
      request = {
        eventId: message.eventId,
        endpointId,
        at: sim.time.now,
        endedAt: undefined,
        answer: answers[moods.get(endpointId) ?? 'accepts'],
        ...lease,
      };
      expectAlone(request, begunAt);
      seenRequests.push(request);
      return request.answer;
    });
    if (answer.durationMs > 1_000) await new Promise((resolve) => void setTimeout(resolve, answer.durationMs));
    if (request) request.endedAt = sim.time.now;
    return answer;
  }

  async function leaseOf(eventId: Id, endpointId: Id): Promise<Pick<SeenRequest, 'fence' | 'leaseUntil'>> {
    const [row] = await sim.postgres.ask<{ fence: number; leaseUntil: Date | null }>(
      `SELECT fence, lease_until AS "leaseUntil" FROM webhook_deliveries WHERE event_id = $1 AND endpoint_id = $2`,
      [eventId, endpointId],
    );
    return { fence: row?.fence ?? 0, leaseUntil: row?.leaseUntil?.getTime() ?? 0 };
  }

  /** Expects that no other process posts a delivery while its lease lives (ENG-2). */
  function expectAlone({ eventId, endpointId, fence }: SeenRequest, begunAt: number): void {
    const other = seenRequests.find(
      (one) =>
        one.eventId === eventId &&
        one.endpointId === endpointId &&
        one.endedAt === undefined &&
        begunAt < one.leaseUntil &&
        // If a process is slow, another process may have claimed the row again.
        (one.fence < fence || (one.fence === fence && !sim.slow)),
    );
    mustHold(
      sim.lapsed || other === undefined,
      'one attempt at a time',
      () => `${eventId} is posted twice at a time, by claims ${other?.fence} and ${fence}`,
    );
  }

  const tell = (studentId: Id, count: number): Command => ({
    label: `${count} fact(s) of ${studentId}`,
    async run() {
      const ids = await sim.db.transaction(async (tx) => {
        const factIds = [];
        for (let one = 0; one < count; one++)
          factIds.push(await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: now() }));
        return factIds;
      });
      for (const id of ids) facts.add(id);
    },
  });
  const settle = (endpointId: Id, mood: Mood): Command => ({
    label: `${endpointId} ${mood}`,
    run: () => void moods.set(endpointId, mood),
  });

  async function someDelivery(choose: (below: number) => number): Promise<{ id: Id; endpointId: Id } | undefined> {
    const rows = await sim.postgres.ask<{ id: Id; endpointId: Id }>(
      `SELECT id, endpoint_id AS "endpointId" FROM webhook_deliveries ORDER BY id`,
    );
    return rows[choose(rows.length)];
  }

  return {
    types: ['webhookDelivery', 'endpointGate'],
    hasDirectLane,
    horizonMs: 4 * 86_400_000,
    leaseMs,
    depsFor: (db, permits) => ({
      vault: ground.vault,
      deliveries: {
        db,
        vault: ground.vault,
        post,
        recordSuccess: createSuccessWriter(db),
        random: Math.random,
        permits: permits.permits,
        onAttempt: permits.onAttempt,
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const endpointId = decisions.pick(endpoints);
      const studentId = decisions.pick(students);
      const which = commandNumbers === ofPaused && facts.size === 0 ? tellCommand : decisions.pick(commandNumbers);
      if (which < 5) return tell(studentId, 1 + decisions.choose(commandNumbers === all ? 3 : 1));
      if (which < 7) return settle(endpointId, 'fails');
      if (which === 7) return settle(endpointId, 'accepts');
      if (which === 8) return settle(endpointId, decisions.pick(['asks for time', 'answers late']));
      if (which === 9)
        return {
          label: `pause ${endpointId}`,
          run: async () => void (await pauseEndpoint(deps, clubId, endpointId, now())),
        };
      if (which === 10 || which === 11)
        return {
          label: `enable ${endpointId}`,
          run: async () => void (await enableEndpoint(deps, clubId, endpointId, now())),
        };
      if (which === 12)
        return {
          label: `disable ${endpointId}`,
          run: async () => void (await disableEndpoint(deps, clubId, endpointId, now())),
        };
      if (which === 13) {
        const lot = decisions.choose(commandNumbers === all ? 40 : 2);
        return {
          label: 'resend',
          async run() {
            const delivery = await someDelivery((below) => (below === 0 ? 0 : lot % below));
            if (!delivery) return;
            besides.set(delivery.id, (besides.get(delivery.id) ?? 0) + 1);
            await resendDelivery(deps, clubId, delivery.endpointId, delivery.id, now());
          },
        };
      }
      if (which === 14) {
        return {
          label: `recover ${endpointId}`,
          async run() {
            for (const { id } of await sim.postgres.ask<{ id: Id }>('SELECT id FROM webhook_deliveries'))
              besides.set(id, (besides.get(id) ?? 0) + 1);
            await recoverDeliveries(deps, clubId, endpointId, new Date(sim.time.now - 3_600_000), now());
          },
        };
      }
      return {
        label: `remove ${studentId}`,
        async run() {
          await removeStudent(deps, clubId, studentId, now());
          removed.add(studentId);
        },
      };
    },
    calm: () => [
      ...endpoints.map((id) => settle(id, 'accepts')),
      ...endpoints.map((id) => ({
        label: `enable ${id}`,
        run: async () => void (await enableEndpoint(deps, clubId, id, now())),
      })),
    ],
    async atEnd() {
      await expectStories();
      await expectAttempts();
      await expectTallies();
      for (const id of removed) await searchForTraces(sim, id);
    },
  };

  async function expectStories(): Promise<void> {
    const rows = await sim.postgres.ask<{
      id: Id;
      eventId: Id;
      endpointId: Id;
      status: string;
      reason: string | null;
      attempts: number;
      requested: string | null;
      inFlight: string | null;
      parked: boolean;
      ended: { outcome: string; count: number }[] | null;
    }>(`SELECT id, event_id AS "eventId", endpoint_id AS "endpointId", status, cancel_reason AS reason, attempt_count AS attempts, requested,
               in_flight AS "inFlight", parked_at IS NOT NULL AS parked,
               (SELECT json_agg(json_build_object('outcome', outcome, 'count', count)) FROM (SELECT coalesce(outcome, 'open') AS outcome, count(*) FROM webhook_attempts WHERE delivery_id = delivery.id GROUP BY 1) AS of_delivery) AS ended
          FROM webhook_deliveries delivery`);
    for (const row of rows) {
      const about = `delivery ${row.id} (${row.status})`;
      mustHold(
        row.status !== 'pending' && row.requested === null && row.inFlight === null,
        'all work ends',
        () => `${about}: requested ${row.requested}, in flight ${row.inFlight}, parked ${row.parked}`,
      );
      const posts = seenRequests.filter(
        ({ eventId, endpointId }) => eventId === row.eventId && endpointId === row.endpointId,
      );
      const accepted = posts.filter(({ answer }) => answer.outcome === 'succeeded').length;
      const ended = new Map((row.ended ?? []).map(({ outcome, count }) => [outcome, count]));
      const cutOff = (ended.get('interrupted') ?? 0) + (ended.get('open') ?? 0);
      const recorded = [...ended.values()].reduce((sum, count) => sum + count, 0);
      mustHold(
        row.status !== 'succeeded' || accepted > 0,
        'a recorded effect has happened',
        () => `${about}: no receiver accepted it`,
      );
      mustHold(
        (ended.get('succeeded') ?? 0) <= accepted,
        'a recorded effect has happened',
        () => `${about}: ${ended.get('succeeded')} recorded, ${accepted} accepted`,
      );
      mustHold(
        (ended.get('http_error') ?? 0) <= posts.length - accepted,
        'a recorded effect has happened',
        () => `${about}: more failures than receivers had`,
      );
      mustHold(
        posts.length <= recorded,
        'an effect that happened is recorded',
        () => `${about}: ${posts.length} requests, ${recorded} attempts`,
      );
      mustHold(
        accepted <= 1 + cutOff + (besides.get(row.id) ?? 0),
        'no effect happens twice',
        () => `${about}: accepted ${accepted} times, ${cutOff} cut off`,
      );
      mustHold(
        row.attempts + cutOff >= posts.length,
        'an effect that happened is recorded',
        () => `${about}: attempt_count ${row.attempts}, ${posts.length} requests`,
      );
    }
    for (const id of facts) {
      const endpointCount = new Set(rows.filter(({ eventId }) => eventId === id).map(({ endpointId }) => endpointId))
        .size;
      mustHold(
        endpointCount === rows.filter(({ eventId }) => eventId === id).length,
        'no effect happens twice',
        () => `fact ${id} has two deliveries for an endpoint`,
      );
    }
    const byEventAndEndpoint = Map.groupBy(rows, ({ eventId, endpointId }) => `${eventId} ${endpointId}`);
    mustHold(
      [...byEventAndEndpoint.values()].every(({ length }) => length === 1),
      'no effect happens twice',
      () => 'two deliveries of an event for one endpoint',
    );
  }

  /** Expects that each claim ends an open attempt of an earlier claim (ENG-2). */
  async function expectAttempts(): Promise<void> {
    const openAttempts = await sim.postgres.ask<{ id: Id; fence: number }>(
      `SELECT delivery_id AS id, fence FROM webhook_attempts attempt
        WHERE outcome IS NULL AND EXISTS (SELECT FROM webhook_attempts later WHERE later.delivery_id = attempt.delivery_id AND later.fence > attempt.fence)`,
    );
    mustHold(
      openAttempts.length === 0,
      'an interrupted attempt is recorded',
      () =>
        `delivery ${openAttempts[0]?.id}: attempt ${openAttempts[0]?.fence} is open, although a later attempt exists`,
    );
  }

  async function expectTallies(): Promise<void> {
    const statuses = ['pending', 'succeeded', 'failed', 'canceled'];
    const wrong = await sim.postgres.ask(
      `SELECT * FROM (
         SELECT endpoint_id, ${statuses.map((status) => `sum(${status})::int AS ${status}`).join(', ')} FROM (
           SELECT endpoint_id, ${statuses.join(', ')} FROM webhook_tallies WHERE span = 'day'
            UNION ALL SELECT endpoint_id, ${statuses.join(', ')} FROM webhook_tally_changes
            UNION ALL SELECT endpoint_id, ${statuses.map((status) => `-(status = '${status}')::int`).join(', ')} FROM webhook_deliveries) AS sides
          GROUP BY 1) AS sums
        WHERE (${statuses.join(', ')}) <> (0, 0, 0, 0)`,
    );
    mustHold(wrong.length === 0, 'sums are equal', () => JSON.stringify(wrong));
  }
}
