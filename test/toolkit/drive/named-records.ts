/** Finds the places at which a request names records of a club: in its path, its query or its body. */
import type { CallerKind, ContractOperation } from '../../../contract/contract.ts';
import { contractDocument } from '../../../contract/document.ts';
import { dereference, isObject, type JsonObject } from '../../../contract/openapi.ts';
import type { Records } from '../builders/furnished-club.ts';
import { bodyOf, bodySchemaOf, everyOperation } from './every-operation.ts';

export type RecordName = keyof Records;

export const clubOperations = everyOperation.filter(({ pathParameters }) => pathParameters.includes('clubId'));

/** Each key is a part of a path that ends with a parameter. If two keys match, the longer key counts. */
const inPaths: Readonly<Record<string, RecordName | Record<CallerKind, RecordName>>> = {
  'members/{administratorId}': 'member',
  'invitations/{invitationId}': 'invitation',
  'students/{studentId}': 'student',
  'tags/{tagId}': 'tag',
  'levels/{levelId}': 'level',
  'courses/{courseId}': 'course',
  'courses/{publicId}': 'coursePublicId',
  'modules/{moduleId}': 'module',
  'lessons/{lessonId}': 'lesson',
  'lessons/{publicId}': 'lessonPublicId',
  'comments/{commentId}': 'comment',
  'cohorts/{cohortId}': 'cohort',
  'deliveries/{deliveryId}': 'delivery',
  'enrollments/{enrollmentId}': 'enrollment',
  'certificates/{certificateId}': 'certificate',
  'registration-links/{linkId}': 'link',
  'registration-links/{code}': 'linkCode',
  'products/{productId}': 'product',
  'sales-connections/{connectionId}': 'connection',
  'sales-notices/{noticeId}': 'notice',
  'student-imports/{importId}': 'import',
  'bulk-jobs/{jobId}': 'bulkJob',
  'exports/{exportId}': 'clubExport',
  'students/{studentId}/exports/{exportId}': 'export',
  'classroom/exports/{exportId}': 'export',
  'webhook-endpoints/{endpointId}': 'endpoint',
  'api-keys/{keyId}': 'apiKey',
  'webhook-endpoints/{endpointId}/deliveries/{deliveryId}': 'webhookDelivery',
  'events/{eventId}': 'event',
  'media/{mediaId}': { admin: 'file', student: 'image' },
  'assignment-files/{mediaId}': 'assignmentFile',
  'assignments/{assignmentId}': 'assignment',
  'extensions/{studentId}': 'student',
  'assignment-submissions/{submissionId}': 'submission',
  'folders/{folderId}': 'folder',
  'mentorships/{mentorshipId}': 'mentorship',
  'mentorships/{publicId}': 'mentorshipPublicId',
  'mentorship-sessions/{sessionId}': 'mentorshipSession',
  'sessions/{sessionId}': 'mentorshipSession',
  'spaces/{spaceId}': 'space',
  'members/{studentId}': 'student',
  'bans/{studentId}': 'student',
  'posts/{publicId}': { admin: 'ownersPostPublicId', student: 'postPublicId' },
  'posts/{publicId}/comments/{commentId}': { admin: 'ownersComment', student: 'postComment' },
  'reports/{reportId}': 'report',
  'agents/{agentId}': 'agent',
  'campaigns/{campaignId}': 'campaign',
  'workflows/{workflowId}': 'automation',
  'versions/{versionId}': 'automationVersion',
  'runs/{runId}': 'run',
  'suppressions/{suppressionId}': 'suppression',
  'unsubscribe/{token}': 'wayOut',
  'resubscribe/{token}': 'wayOut',
  'repositories/{repositoryId}': 'repository',
  'repositories/{publicId}': 'repositoryPublicId',
  'agents/{publicId}': 'agentPublicId',
  'sources/{sourceId}': 'source',
  'conversations/{conversationId}': 'conversation',
  'messages/{messageId}': 'answer',
};

/** A key is the name of a property or parameter. If this name is ambiguous, the key is the whole location. */
const byName: Readonly<Record<string, RecordName>> = {
  student_id: 'student',
  administrator_id: 'member',
  actor_id: 'member',
  course_id: 'course',
  course_ids: 'course',
  'modules.id': 'module',
  lesson_ids: 'lesson',
  cohort_id: 'cohort',
  delivery_id: 'delivery',
  delivery_ids: 'delivery',
  connection_id: 'connection',
  endpoint_id: 'endpoint',
  agent_id: 'agent',
  repository_id: 'repository',
  space_id: 'space',
  conversation_id: 'conversation',
  media_ids: 'file',
  logo_media_id: 'logo',
  with: 'file',
  folder_id: 'folder',
  parent_id: 'folder',
  image_ids: 'image',
  registration_code: 'linkCode',
  assignment_ids: 'assignment',
  mentorship_id: 'mentorship',
  mentor_id: 'mentor',
  replaces: 'mentorshipSession',
  file_ids: 'assignmentFile',
  space_ids: 'space',
  reply_to: 'postComment',
};

export interface NamedRecord {
  /** The name of the path parameter. In a body, the path of the property, such as `modules.lesson_ids`. */
  place: string;
  record: RecordName;
}

export function namedInPath({ path, pathParameters }: ContractOperation, kind: CallerKind): NamedRecord[] {
  return pathParameters
    .filter((name) => !['clubId', 'reaction', 'language', 'template'].includes(name))
    .map((place) => {
      const upToHere = path.slice(0, path.indexOf(`{${place}}`)) + `{${place}}`;
      const [end] = Object.keys(inPaths)
        .filter((candidate) => upToHere.endsWith(`/${candidate}`))
        .toSorted((one, other) => other.length - one.length);
      const record = path.includes('/tracks')
        ? 'video'
        : path.endsWith('/students/{studentId}/erasure')
          ? 'removedStudent'
          : end === undefined
            ? undefined
            : inPaths[end];
      if (record === undefined) throw new Error(`No record of buildFurnishedClub() is known for ${upToHere}.`);
      return { place, record: typeof record === 'string' ? record : record[kind] };
    });
}

/** @returns the record that a location in a query or body names. */
export function recordAt({ operationId, path }: ContractOperation, place: string): RecordName {
  if (place === 'file_ids' && path.includes('/posts')) return 'postFile';
  const record = byName[place] ?? byName[place.slice(place.lastIndexOf('.') + 1)];
  if (record === undefined)
    throw new Error(`No record of buildFurnishedClub() is known for ${place} of ${operationId}.`);
  return record;
}

export function placesInQuery({ parameters }: ContractOperation): string[] {
  return parameters
    .filter(({ in: where, schema }) => where === 'query' && placesIn(schema, []).length > 0)
    .map(({ name }) => name);
}

/**
 * @returns the locations in the JSON body that name records. Other tests check drafts, dry runs and bulk jobs. Callers choose the `id` of a
 * new record
 */
export function placesInBody(operation: ContractOperation): string[] {
  return idsInBody(operation).filter(
    (place) => !/^id$|^student_ids$|^students\.student_id$|^(?:content|audience|draft|facts|about)\./.test(place),
  );
}

export function choosesId(operation: ContractOperation): boolean {
  return idsInBody(operation).includes('id');
}

/** @param named a further location to fill */
export function bodyAbout(operation: ContractOperation, records: Records, named?: string): JsonObject | undefined {
  const example = operation.fileBody ? undefined : bodyOf(operation);
  if (example === undefined) return undefined;
  const body = named?.startsWith('opens.') ? { ...example, opens: openings(records)[named] } : example;
  return placesInBody(operation)
    .filter((place) => place === named || holds(body, place.split('.')))
    .reduce((about, place) => withId(about, place, records[recordAt(operation, place)]), body);
}

/** A delivery opens a course, an agent, a repository or a space. */
const openings = ({ course, agent, repository, space }: Records): JsonObject => ({
  'opens.course_id': { kind: 'course', course_id: course },
  'opens.cohort_id': { kind: 'course', course_id: course },
  'opens.agent_id': { kind: 'agent', agent_id: agent },
  'opens.repository_id': { kind: 'repository', repository_id: repository },
  'opens.space_id': { kind: 'space', space_id: space },
});

/** Returns the body with this id at the location. A list at the location then contains only this id. */
export function withId(body: JsonObject, place: string, id: string): JsonObject {
  const [name = '', ...rest] = place.split('.');
  const old = body[name];
  const [first] = Array.isArray(old) ? old : [old];
  const inside = rest.length === 0 ? id : withId(isObject(first) ? first : {}, rest.join('.'), id);
  return { ...body, [name]: Array.isArray(old) || name.endsWith('_ids') ? [inside] : inside };
}

function idsInBody(operation: ContractOperation): string[] {
  if (!operation.hasBody || operation.fileBody) return [];
  return [...new Set(placesIn(bodySchemaOf(operation), []))];
}

/** Tests check ids up to this depth of nesting. */
const deepest = 6;

/** Returns the paths of all UUIDs in a schema, and the path of the code of a registration link. */
function placesIn(referring: unknown, way: readonly string[]): string[] {
  if (!isObject(referring)) return [];
  if (way.length > deepest) return []; // The steps of automations are nested.
  const schema = dereference(referring, contractDocument.components.schemas);
  const { format, properties = {}, items, oneOf, anyOf, allOf } = schema;
  const alternatives = [oneOf, anyOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return [
    ...(format === 'uuid' || way.at(-1) === 'registration_code' ? [way.join('.')] : []),
    ...Object.entries(properties as JsonObject).flatMap(([name, property]) => placesIn(property, [...way, name])),
    ...[items, ...alternatives].flatMap((inner) => placesIn(inner, way)),
  ];
}

function holds(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  const [first] = Array.isArray(value) ? (value as unknown[]) : [value];
  return isObject(first) && name in first && holds(first[name], rest);
}
