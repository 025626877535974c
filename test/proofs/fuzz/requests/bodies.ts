/** Makes bodies with values that must match, such as an address and its code, or a token and its purpose. */
import type { OperationId } from '../../../../contract/contract.ts';
import type { TokenPurpose } from '../../../../entities/mail/values.ts';
import { password } from '../../../toolkit/builders/clubs.ts';
import type { Draw } from './draw.ts';
import { billingNotice, providerNotice, salesNotice } from './notices.ts';
import type { Pool } from './pool.ts';
import { oneOf } from './references.ts';
import type { Json, JsonRecord } from './step.ts';

/** @returns the body; undefined if a value that the body needs does not exist */
type BodyMaker = (draw: Draw, pool: Pool) => Json | undefined;

const withToken =
  (purposes: readonly TokenPurpose[], more: (draw: Draw) => JsonRecord = () => ({})): BodyMaker =>
  (draw, pool) => {
    const mailed = purposes.flatMap((purpose) => pool.living(`mail.${purpose}`));
    if (mailed.length === 0) return undefined;
    // A newer token may have replaced the older tokens.
    const { template } = draw.chance(0.7) ? (mailed.at(-1) ?? draw.pick(mailed)) : draw.pick(mailed);
    return { token: template, ...more(draw) };
  };

const addressed =
  (kind: 'student.email' | 'administrator.email'): BodyMaker =>
  (draw, pool) => {
    const email = oneOf(kind)(draw, pool);
    if (email === undefined) return undefined;
    return kind === 'student.email' ? { club_id: '{{own.club}}', email } : { email };
  };

const signIn =
  (kind: 'student.email' | 'administrator.email'): BodyMaker =>
  (draw, pool) => {
    const addressee = addressed(kind)(draw, pool) as JsonRecord | undefined;
    return addressee && { ...addressee, password: draw.chance(0.8) ? password : 'wrong horse battery' };
  };

const exchangedCode: BodyMaker = (draw, pool) => {
  const codes = pool.living('mail.student_code');
  if (codes.length === 0) return undefined;
  const { template, parents = {} } = draw.pick(codes);
  return { club_id: '{{own.club}}', email: parents['email'] ?? '', code_id: parents['id'] ?? '', code: template };
};

const withJoin =
  (more: JsonRecord = {}): BodyMaker =>
  (draw, pool) => {
    const join = oneOf('identity_join')(draw, pool);
    const email = 'password' in more ? oneOf('administrator.email')(draw, pool) : undefined;
    return join === undefined ? undefined : { join_token: join, ...more, ...(email !== undefined && { email }) };
  };

/** Announces a small file, so that the fuzzer can upload the file to the reserved URL. */
const announcedFile =
  (mimes: readonly string[]): BodyMaker =>
  (draw) => ({ file_name: 'notes', mime: draw.pick(mimes), size_bytes: draw.between(200, 2_000) });

const nextHalfHour = (count: number) =>
  new Date((Math.floor(Date.now() / 1_800_000) + count) * 1_800_000).toISOString();

const outlineOfScene: Json = {
  modules: [
    { id: '{{own.module2}}', lesson_ids: ['{{own.lesson4}}', '{{own.lesson}}'] },
    { id: '{{own.module}}', lesson_ids: ['{{own.lesson2}}', '{{own.lesson3}}'] },
  ],
};

export const bodies: Partial<Record<OperationId, BodyMaker>> = {
  signInStudent: signIn('student.email'),
  signInAdministrator: signIn('administrator.email'),
  resendStudentVerification: addressed('student.email'),
  requestStudentPasswordReset: addressed('student.email'),
  requestStudentCode: addressed('student.email'),
  resendAdministratorVerification: addressed('administrator.email'),
  requestAdministratorPasswordReset: addressed('administrator.email'),
  eraseOwnAccount: addressed('administrator.email'),
  verifyStudentEmail: withToken(['student_verify_email', 'student_invitation']),
  verifyAdministratorEmail: withToken(['administrator_verify_email']),
  confirmStudentPasswordReset: withToken(['student_reset_password'], () => ({ password })),
  confirmAdministratorPasswordReset: withToken(['administrator_reset_password'], () => ({ password })),
  acceptInvitation: withToken(['administrator_invitation'], (draw) =>
    draw.chance(0.7) ? { name: 'Inge Invited', password } : {},
  ),
  exchangeStudentCode: exchangedCode,
  receiveBillingNotice: billingNotice,
  receiveProviderNotice: providerNotice,
  receiveSalesNotice: salesNotice,
  addIdentity: withJoin(),
  joinIdentity: withJoin({ password }),
  requestIdentityCode: withJoin(),
  changeOwnPassword: (draw) => ({ current_password: password, new_password: draw.chance(0.8) ? password : 'short' }),
  updateOwnStudent: (draw) => ({ language: draw.pick(['en', 'pt-BR', 'es', 'de', 'ar']) }),
  updateProfile: (draw) => ({ language: draw.pick(['en', 'pt-BR', 'es', 'de', 'ar']) }),
  reserveMedia: announcedFile(['text/plain', 'text/markdown', 'text/html']),
  reserveAgentImage: announcedFile(['image/png']),
  reserveAvatar: announcedFile(['image/png']),
  createAssignment: (draw) => ({ prompt: `Tie knot ${draw.below(1e6)}`, max_files: draw.below(11) }),
  setAssignmentExtension: () => ({ due_at: '2999-03-12T22:00:00.000Z' }),
  submitAssignment: (draw) => ({ text: `Tied ${draw.below(1e6)}` }),
  reviewAssignmentSubmission: () => ({ attempt: 1, outcome: 'changes_requested', comment: 'Once more.' }),
  createMentorship: (_draw, pool) => {
    const mentor = oneOf('administrator')(_draw, pool);
    if (mentor === undefined) return undefined;
    const weekly = [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, from: '00:00', to: '24:00' }));
    const times = { duration_minutes: 30, time_zone: 'UTC', weekly_hours: weekly };
    return { title: `Clinic ${_draw.below(1e6)}`, mentor_id: mentor, ...times };
  },
  bookMentorshipSession: (draw) => ({ starts_at: nextHalfHour(draw.between(1, 600)) }),
  createCommunitySpace: (draw) => ({ name: `Space ${draw.below(1e6)}`, auto_join: draw.chance(0.5) }),
  orderCommunitySpaces: (_, pool) => ({ space_ids: pool.living('space').map(({ template }) => template) }),
  publishSpacePost: (draw) => ({ body: `Tied *${draw.below(1e6)}*` }),
  publishPostComment: (draw) => ({ body: `Tied ${draw.below(1e6)}` }),
  reservePostFile: announcedFile(['image/png']),
  markCommunitySpaceRead: () => ({ read_until: '2026-03-12T22:00:00.000Z' }),
  createMediaReference: (draw) => ({ provider: 'protectedvideo', external_id: 'b7a1c9', title: `${draw.below(1e6)}` }),
  putMediaTrack: (draw) => ({ content: `WEBVTT\n\n00:01.000 --> 00:02.000\nTie knot ${draw.below(1e6)}\n` }),
  createMediaTrack: (draw) => ({ language: draw.pick(['en', 'pt-BR', 'de']) }),
  setMailDomain: (draw) => ({ domain: `mail${draw.below(1e6)}.example` }),
  orderCourse: (draw) => (draw.chance(0.4) ? { modules: [] } : draw.chance(0.4) ? outlineOfScene : undefined),
  createDelivery: (draw, pool) => {
    const agent = oneOf('agent')(draw, pool);
    if (agent === undefined || draw.chance(0.6)) return undefined;
    return { name: `Help ${draw.below(1e6)}`, opens: { kind: 'agent', agent_id: agent } };
  },
};
