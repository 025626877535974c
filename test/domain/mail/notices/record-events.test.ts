import { expect } from 'chai';
import * as fc from 'fast-check';
import { createCampaign } from '../../../../domain/campaigns/drafts/drafts.ts';
import { readStatistics } from '../../../../domain/campaigns/recipients.ts';
import { scheduleCampaign } from '../../../../domain/campaigns/states.ts';
import { stepCampaign } from '../../../../domain/campaigns/step.ts';
import type { MailEvent } from '../../../../domain/mail/notices/mail-event.policy.ts';
import { recordEvents } from '../../../../domain/mail/notices/record-events.ts';
import { MailSuppression } from '../../../../entities/mail/mail-suppression.ts';
import type { HandOver } from '../../../../platform/infra/smtp/smtp-hand-over.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildCampaign } from '../../../toolkit/builders/campaigns.ts';
import { buildStudent, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { sendingDeps } from '../../../toolkit/drive/campaigns.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const start = new Date('2026-03-02T12:00:00Z');
const hour = 3_600_000;
const kinds = ['delivered', 'bounced', 'soft_bounced', 'complained'] as const;
const recipients = 3;

interface ReportedEvent {
  place: number;
  kind: (typeof kinds)[number];
  /** Minutes after the sending starts. May be negative. */
  at: number;
}

const reportedEvent: fc.Arbitrary<ReportedEvent> = fc.record({
  place: fc.nat(recipients - 1),
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constant('soft_bounced' as const) },
    { weight: 4, arbitrary: fc.constantFrom(...kinds) },
  ),
  at: fc.integer({ min: -5, max: 50 }),
});
const request = fc.array(reportedEvent, { minLength: 1, maxLength: 12 });
const answers: readonly HandOver[] = [
  { kind: 'accepted', reply: '250 ok' },
  { kind: 'unknown' },
  { kind: 'refused', permanent: false, reply: '451 later' },
  { kind: 'refused', permanent: true, reply: '550 no' },
];
/** Some requests arrive during the hand-over, others after it. One request arrives twice. */
const run = fc.record({
  answers: fc.array(fc.constantFrom(...answers), { minLength: recipients, maxLength: recipients }),
  early: fc.array(fc.array(request, { maxLength: 2 }), { minLength: recipients, maxLength: recipients }),
  late: fc.array(request, { maxLength: 4 }),
  repeated: fc.nat(10),
});

interface Row {
  status: string;
  sentAt: number | null;
  times: Record<(typeof kinds)[number], number | null>;
}

describe('events of mails that come early, repeatedly and in any order (CAMP-14, CAMP-15)', function () {
  this.timeout(60_000);
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  before(async () => {
    deps = await testDeps();
    ({ club } = await buildCampaign(start));
    for (let place = 0; place < recipients; place++)
      await buildStudent(club.id, { createdAt: new Date(start.getTime() - hour + place) });
  });

  const timeOf = (minutes: number) => start.getTime() + minutes * 60_000;

  /** The order of the requests does not matter. */
  function model(outcomes: readonly HandOver[], requests: readonly (readonly ReportedEvent[])[]) {
    const eventsOfMails: ReportedEvent[][] = Array.from({ length: recipients }, () => []);
    for (const event of requests.flat()) eventsOfMails[event.place]?.push(event);
    const suppressed = eventsOfMails.flatMap((all) => {
      const timesOf = (kind: ReportedEvent['kind']) => all.filter((one) => one.kind === kind).map(({ at }) => at);
      const arrived = Math.min(...timesOf('delivered'));
      const softInARow = new Set(timesOf('soft_bounced').filter((at) => !Number.isFinite(arrived) || at > arrived));
      if (timesOf('complained').length > 0) return ['complaint'];
      return timesOf('bounced').length > 0 || softInARow.size >= 5 ? ['bounce'] : [];
    });
    const rows = eventsOfMails.map((events, place): Row => {
      const first = (of: readonly ReportedEvent[]) =>
        of.length === 0 ? null : timeOf(Math.min(...of.map(({ at }) => at)));
      const times = Object.fromEntries(
        kinds.map((kind) => [kind, first(events.filter((one) => one.kind === kind))]),
      ) as Row['times'];
      const outcome = outcomes[place];
      const proven = first(events);
      if (outcome?.kind === 'accepted')
        return { status: 'sent', sentAt: Math.min(start.getTime(), proven ?? Infinity), times };
      if (proven !== null) return { status: 'sent', sentAt: proven, times };
      const isLater = outcome?.kind === 'refused' && !outcome.permanent;
      return { status: isLater ? 'pending' : 'failed', sentAt: null, times };
    });
    return { rows, suppressed: suppressed.toSorted() };
  }

  async function carryOut({
    answers: outcomes,
    early,
    late,
    repeated,
  }: typeof run extends fc.Arbitrary<infer Run> ? Run : never) {
    await deps.db.source.query(`DELETE FROM campaigns WHERE club_id = $1`, [club.id]);
    await deps.db.source.query(`UPDATE mail_senders SET allowance = 100 WHERE club_id = $1`, [club.id]);
    await deps.db.source.query(`DELETE FROM mail_suppressions WHERE club_id = $1`, [club.id]);
    const content = { subject: 'Hi', blocks: [{ kind: 'heading' as const, text: 'Ahoy' }] };
    const { id: campaignId } = await createCampaign(deps, club.id, { name: 'Spring', content }, start);
    await scheduleCampaign(deps, club.id, campaignId, undefined, start);
    const committed: ReportedEvent[][] = [];
    let mailIds: string[] = [];
    const note = async (events: readonly ReportedEvent[]) => {
      const list: MailEvent[] = events.map(({ place, kind, at }) => ({
        kind,
        at: new Date(timeOf(at)),
        mailId: mailIds[place],
        providerId: undefined,
      }));
      await recordEvents(deps.db, list, new Date(start.getTime() + hour));
      committed.push([...events]);
    };
    let place = 0;
    const sending = await sendingDeps({
      connections: 1,
      onConnection: (work) => work(),
      async handOver() {
        const rows = await deps.db.rows<{ id: string }>(
          sql`SELECT id FROM mails WHERE campaign_id = ${campaignId} ORDER BY seq`,
        );
        mailIds = rows.map(({ id }) => id);
        // A provider cannot report a mail before its hand-over.
        for (const events of early[place] ?? []) await note(events.filter((one) => one.place <= place));
        place += 1;
        return outcomes[place - 1] ?? { kind: 'unknown' };
      },
    });
    for (let steps = 0; steps < 10; steps++) {
      const next = await stepCampaign(sending, campaignId, start.getTime());
      if (next.done || next.at !== undefined) break;
    }
    for (const events of late) await note(events);
    const again = committed[repeated];
    if (again) await note(again);
    return { campaignId, committed };
  }

  it('lead to the rows, tallies and suppressions of a model', async () => {
    await fc.assert(
      fc.asyncProperty(run, async (one) => {
        const { campaignId, committed } = await carryOut(one);
        const expected = model(one.answers, committed);
        const rows = await deps.db.rows<
          Record<string, Date | null> & { status: string }
        >(sql`SELECT status, sent_at, delivered_at AS delivered,
          bounced_at AS bounced, soft_bounced_at AS soft_bounced, complained_at AS complained FROM mails WHERE campaign_id = ${campaignId} ORDER BY seq`);
        expect(
          rows.map(({ status, sent_at: sentAt, ...times }) => ({
            status,
            sentAt: sentAt?.getTime() ?? null,
            times: Object.fromEntries(Object.entries(times).map(([kind, at]) => [kind, at?.getTime() ?? null])),
          })),
        ).to.deep.equal(expected.rows);
        const withStatus = (status: string) => expected.rows.filter((row) => row.status === status).length;
        const withTime = (kind: ReportedEvent['kind']) =>
          expected.rows.filter(({ times }) => times[kind] !== null).length;
        expect(await readStatistics(deps.db, club.id, campaignId)).to.include({
          recipients,
          pending: withStatus('pending'),
          sent: withStatus('sent'),
          failed: withStatus('failed'),
          skipped: 0,
          delivered: withTime('delivered'),
          bounced: withTime('bounced'),
          complained: withTime('complained'),
        });
        const suppressions = await deps.db.manager.findBy(MailSuppression, { clubId: club.id });
        expect(suppressions.map(({ reason }) => String(reason)).toSorted()).to.deep.equal(expected.suppressed);
      }),
      { numRuns: Number(process.env['EVENT_RUNS'] ?? 12) },
    );
  });
});
