/** Derives the kind of a record from the name of a path segment, a parameter or a property of the contract. */
import { contractOperations, type ContractOperation, type OperationId } from '../../../../contract/contract.ts';

/** Kinds of records that have a different name in the contract: the name in the contract, and then the kind. */
const spelled: Readonly<Record<string, string>> = {
  webhook_endpoint: 'endpoint',
  sales_connection: 'connection',
  sales_notice: 'notice',
  student_import: 'import',
  job: 'bulk_job',
  registration_link: 'link',
  agent_image: 'media',
  image: 'media',
  cover: 'media',
  cover_media: 'media',
  parent: 'folder',
  file: 'media',
  assignment_file: 'media',
  assignment_submission: 'submission',
  post_file: 'media',
  member: 'administrator',
  mentor: 'administrator',
  mentorship_session: 'session',
  answer: 'message',
  question: 'message',
  next_level: 'level',
  organization: 'club',
};

/** Operations that answer with another kind of record than the path names. */
const answerKinds: Partial<Record<OperationId, string>> = {
  getClubBySlug: 'club',
  sendTestWebhook: 'webhook_delivery',
  replayEvent: 'webhook_delivery',
  reserveAgentImage: 'media',
  reserveAvatar: 'media',
  createMediaReference: 'media',
  signUpStudent: 'student',
  getSession: 'student',
  getProfile: 'administrator',
  bookMentorshipSession: 'session',
  bulkTagStudents: 'bulk_job',
  bulkUntagStudents: 'bulk_job',
  bulkGrantAccess: 'bulk_job',
  bulkRevokeAccess: 'bulk_job',
  bulkAwardPoints: 'bulk_job',
};

const collections = new Set(
  contractOperations().flatMap(({ path }) => [...path.matchAll(/([\w-]+)\/\{/g)].map(([, segment = '']) => segment)),
);

export function kindOfName(name: string): string {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_');
  const bare = snake.replace(/_ids?$/, '');
  const singular = bare.endsWith('ies') ? `${bare.slice(0, -3)}y` : bare.endsWith('ss') ? bare : bare.replace(/s$/, '');
  return spelled[singular] ?? singular;
}

/** Kinds of tokens, by a part of the path. */
const tokens = [
  { of: '/classroom/mail/', kind: 'way_out' },
  { of: '/mail/links/', kind: 'mail_link' },
  { of: '/mail/openings/', kind: 'mail_opening' },
  { of: '/mail/previews/', kind: 'mail_preview' },
  { of: '/webhooks/mail/', kind: 'notice_token' },
  { of: '/webhooks/mail-reports/', kind: 'notice_token' },
  { of: '/webhooks/ses/', kind: 'notice_token' },
] as const;

/** @returns the kind of record that a path parameter identifies, with `.public_id`, `.code` or `.token` unless the parameter is an id */
export function kindOfParameter({ path }: Pick<ContractOperation, 'path'>, name: string): string {
  const [, segment = ''] = new RegExp(`([\\w-]+)/\\{${name}\\}`).exec(path) ?? [];
  if (name === 'publicId') return `${kindOfName(segment)}.public_id`;
  if (name === 'code' || name === 'certificateCode') return `${kindOfName(segment)}.code`;
  if (path.startsWith('/public/')) return `public_${kindOfName(segment)}`;
  if (name === 'token') return tokens.find(({ of }) => path.includes(of))?.kind ?? 'connection.token';
  return kindOfSegment(path, segment) ?? kindOfName(name);
}

export function kindOfAnswer({ path, operationId }: Pick<ContractOperation, 'path' | 'operationId'>): string {
  const known = answerKinds[operationId];
  if (known !== undefined) return known;
  const segments = path.split('/').slice(1);
  const last = segments.at(-1) ?? '';
  if (collections.has(last) || spelled[kindOfName(last)] !== undefined)
    return kindOfSegment(path, last) ?? kindOfName(last);
  const parameter = segments.findLast((segment) => segment.startsWith('{'));
  return parameter === undefined ? kindOfName(last) : kindOfParameter({ path }, parameter.slice(1, -1));
}

/**
 * Distinguishes kinds that share a segment: deliveries of access and of webhooks, comments on lessons and on posts, and files with
 * subtitles.
 */
function kindOfSegment(path: string, segment: string): string | undefined {
  if (segment === 'media' && path.includes('/tracks')) return 'video';
  if (segment === 'comments' && path.includes('/posts/')) return 'post_comment';
  return segment === 'deliveries' && path.includes('/webhook-endpoints/') ? 'webhook_delivery' : undefined;
}

/** @returns the kind that a property such as `course_id` or `delivery_ids` names; undefined if it names no record */
export function kindOfProperty(name: string): string | undefined {
  // The author of an automation names its steps, so two clubs may use the same name.
  if (name === 'external_id' || name === 'public_id' || name === 'step_id') return undefined;
  return /_ids?$/.test(name) ? kindOfName(name) : undefined;
}
