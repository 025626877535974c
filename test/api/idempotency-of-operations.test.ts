/**
 * Tests each POST and PATCH with a session twice: three simultaneous requests and a repetition under one key have the effect of one request, and
 * get its answer (IDEM-3, IDEM-4).
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { keptFormOf, type CallerKind, type ContractOperation, type OperationId } from '../../contract/contract.ts';
import type { JsonObject } from '../../contract/openapi.ts';
import { rowsOfClubs } from '../toolkit/assert/club-rows.ts';
import { buildFurnishedClub, type FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call, type Call } from '../toolkit/drive/api.ts';
import { everyOperation, nameOf, pathOf, sentTo } from '../toolkit/drive/every-operation.ts';
import { bodyAbout, namedInPath } from '../toolkit/drive/named-records.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

type KeyedCall = Call & { path: string };

interface Preparation {
  /** Changes the furnished club, so that the request succeeds. */
  club?: (club: FurnishedClub) => Promise<unknown>;
  /** Adds to the example of the body. */
  body?: (club: FurnishedClub) => Promise<JsonObject>;
}

const run = async (text: string, ...values: unknown[]) => (await testDatabase()).query(text, values);
const post = async (club: FurnishedClub, path: string, body: JsonObject | undefined, headers = {}) => {
  const answer = await call('POST', `/v1/clubs/${club.id}${path}`, { token: club.owner.token, body, headers });
  expect(answer.status, answer.text).to.be.below(300);
};
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
const scheduled: Preparation = {
  club: (club) => post(club, `/campaigns/${club.records.campaign}/schedule`, { at: tomorrow }),
};
const stored: Preparation = {
  club: ({ records }) =>
    run(
      `UPDATE media SET object_key = 'media/' || id, mime = 'application/pdf', size_bytes = 1 WHERE id = $1`,
      records.file,
    ),
};

/** Operations whose request would be refused in a furnished club. */
const preparations: Partial<Record<OperationId, Preparation>> = {
  setStudentPassword: {
    club: ({ student }) => run(`UPDATE students SET password_hash = NULL WHERE id = $1`, student.id),
  },
  restoreEnrollment: { club: (club) => post(club, `/enrollments/${club.records.enrollment}/revoke`, undefined) },
  unscheduleCampaign: scheduled,
  cancelCampaign: scheduled,
  resumeCampaign: {
    club: ({ records }) =>
      run(
        `UPDATE campaigns SET status = 'paused', pause_reason = 'by_hand', frozen_at = now() WHERE id = $1`,
        records.campaign,
      ),
  },
  retryCampaign: {
    club: ({ records }) =>
      run(`UPDATE campaigns SET status = 'sent', frozen_at = now(), ended_at = now() WHERE id = $1`, records.campaign),
  },
  issueCertificate: { club: ({ records }) => run(`DELETE FROM certificates WHERE id = $1`, records.certificate) },
  resumeAutomation: {
    club: (club) => post(club, `/workflows/${club.records.automation}/pause`, undefined, { 'if-match': '*' }),
  },
  createMediaTrack: { club: ({ records }) => run(`DELETE FROM media_tracks WHERE media_id = $1`, records.video) },
  replaceMedia: { ...stored, body: async (club) => ({ with: (await buildMedia(club.id, { bytes: 'a' })).id }) },
  publishMedia: stored,
  unpublishMedia: stored,
  bookMentorshipSession: {
    club: ({ records }) => run(`UPDATE mentorships SET max_upcoming = 5 WHERE id = $1`, records.mentorship),
  },
};

async function prepared({ operationId }: ContractOperation): Promise<FurnishedClub> {
  const club = await buildFurnishedClub();
  await run(`UPDATE students SET avatar_key = 'avatars/' || id WHERE club_id = $1`, club.id);
  await preparations[operationId]?.club?.(club);
  return club;
}

async function requestOf(operation: ContractOperation, kind: CallerKind, club: FurnishedClub): Promise<KeyedCall> {
  const isOfClub = operation.pathParameters.includes('clubId');
  const records = isOfClub ? namedInPath(operation, kind) : [];
  const ids = Object.fromEntries(records.map(({ place, record }) => [place, club.records[record]]));
  const example = bodyAbout(operation, club.records);
  const body = example && { ...example, ...(await preparations[operation.operationId]?.body?.(club)) };
  const { token } = kind === 'student' ? club.student : club.owner;
  return { ...sentTo(operation), ...(body && { body }), token, path: pathOf(operation, { clubId: club.id, ...ids }) };
}

/** @returns the number of rows that each table has got */
const added = (before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(after).map(([table, count]) => [table, count - (before[table] ?? 0)]));

const keeping = everyOperation.filter(({ idempotency }) => idempotency === 'kept');

describe('a repeated request', function () {
  this.timeout(30_000);
  for (const operation of keeping)
    for (const kind of operation.auth)
      it(`has one effect and one answer: ${nameOf(operation)} (${kind})`, async () => {
        const [club, other] = [await prepared(operation), await prepared(operation)];
        const send = ({ path, headers, ...request }: KeyedCall, key: string) =>
          call(operation.method.toUpperCase(), path, { ...request, headers: { ...headers, 'idempotency-key': key } });
        const request = await requestOf(operation, kind, club);
        const requestOfOther = await requestOf(operation, kind, other);
        const key = randomUUID();

        const start = await rowCounts();
        const twins = await Promise.all([send(request, key), send(request, key), send(request, key)]);
        const [first] = twins.filter(({ headers }) => !headers.has('idempotent-replayed'));
        expect(first?.status, first?.text ?? twins[0].text).to.equal(operation.successStatus);
        const [afterTwins, rows] = [await rowCounts(), await rowsOfClubs(club.id)];
        const again = await send(request, key);
        const firstAnswer = { status: first?.status, body: keptFormOf(operation).bodyToKeep(first?.body) };
        for (const { status, body, headers } of [again, ...twins.filter((twin) => twin !== first)])
          expect([{ status, body }, headers.get('idempotent-replayed'), headers.get('etag')]).to.deep.equal([
            firstAnswer,
            'true',
            first?.headers.get('etag'),
          ]);
        expect(again.text).not.to.contain('X-Amz-Signature');
        expect(await rowCounts()).to.deep.equal(afterTwins);
        expect(await rowsOfClubs(club.id)).to.deep.equal(rows);

        const single = await send(requestOfOther, key);
        expect(single.status, single.text).to.equal(operation.successStatus);
        expect(added(start, afterTwins)).to.deep.equal(added(afterTwins, await rowCounts()));
      });
});
