/** Requests that succeed in a furnished club, for tests of every operation. */
import { expect } from 'chai';
import type { CallerKind, ContractOperation, OperationId } from '../../../contract/contract.ts';
import type { JsonObject } from '../../../contract/openapi.ts';
import { buildFurnishedClub, permittedToken, type FurnishedClub } from '../builders/furnished-club.ts';
import { buildIdentityJoin } from '../builders/identity-providers.ts';
import { buildMedia } from '../builders/media.ts';
import { someNumber } from '../builders/phone-codes.ts';
import { buildSecondFactor } from '../builders/second-factors.ts';
import { testDatabase } from '../stack/database.ts';
import { call, type Call } from './api.ts';
import { pathOf, sentTo } from './every-operation.ts';
import { addPasskey, newPasskey, ofStudentsOf } from './passkeys.ts';
import { bodyAbout, namedInPath } from './named-records.ts';

export type PreparedCall = Call & { path: string };

interface Preparation {
  /** Parameters of a path outside the club. */
  params?: (club: FurnishedClub) => Promise<Record<string, string>>;
  club?: (club: FurnishedClub) => Promise<unknown>;
  body?: (club: FurnishedClub) => Promise<JsonObject>;
}

const run = async (text: string, ...values: unknown[]) => (await testDatabase()).query(text, values);
const post = async (club: FurnishedClub, path: string, body: JsonObject | undefined, headers = {}) => {
  const answer = await call('POST', `/v1/clubs/${club.id}${path}`, { token: club.owner.token, body, headers });
  expect(answer.status, answer.text).to.be.below(300);
};
const nameOfClub = async (club: FurnishedClub): Promise<string> => {
  const answer = await call('GET', `/v1/clubs/${club.id}`, { token: club.owner.token });
  return answer.body.data.name;
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

/** A furnished club would refuse these operations without a preparation. */
const preparations: Partial<Record<OperationId, Preparation>> = {
  setStudentPassword: {
    club: ({ student }) => run(`UPDATE students SET password_hash = NULL WHERE id = $1`, student.id),
  },
  requestClubErasure: { body: async (club) => ({ name: await nameOfClub(club) }) },
  requestPhoneCode: {
    club: ({ owner }) => run(`UPDATE administrators SET phone = $2 WHERE id = $1`, owner.id, someNumber()),
  },
  addIdentity: { body: async ({ provider }) => ({ join_token: await buildIdentityJoin(provider) }) },
  addStudentPasskey: { body: async (club) => newPasskey(await ofStudentsOf(club.id), club.student.token) },
  renameStudentPasskey: {
    params: async (club) => {
      const paths = await ofStudentsOf(club.id);
      await addPasskey(paths, club.student.token);
      const list = await call('GET', paths.list, { token: club.student.token });
      return { passkeyId: list.body.data.passkeys[0].id };
    },
  },
  renameSecondFactor: { params: async (club) => ({ factorId: (await buildSecondFactor(club.owner.id)).id }) },
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

/** Whether the request of the operation would be refused in a club that was prepared for another operation. */
export const isPrepared = ({ operationId }: ContractOperation): boolean => operationId in preparations;

export async function preparedClub({ operationId }: ContractOperation): Promise<FurnishedClub> {
  const club = await buildFurnishedClub();
  await run(`UPDATE students SET avatar_key = 'avatars/' || id WHERE club_id = $1`, club.id);
  await preparations[operationId]?.club?.(club);
  return club;
}

/** @returns the request of a student or of the owner about the club's own records */
export async function requestOf(
  operation: ContractOperation,
  kind: CallerKind,
  club: FurnishedClub,
): Promise<PreparedCall> {
  const isOfClub = operation.pathParameters.includes('clubId');
  const records = isOfClub ? namedInPath(operation, kind) : [];
  const ids = {
    ...Object.fromEntries(records.map(({ place, record }) => [place, club.records[record]])),
    ...(await preparations[operation.operationId]?.params?.(club)),
  };
  const example = bodyAbout(operation, club.records);
  const body = example && { ...example, ...(await preparations[operation.operationId]?.body?.(club)) };
  const token = permittedToken(operation, kind, club);
  return { ...sentTo(operation), ...(body && { body }), token, path: pathOf(operation, { clubId: club.id, ...ids }) };
}
