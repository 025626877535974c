/** The rate limits as a table (LIM-1 to LIM-11), and the choice of a row for a request. */

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Rows with the same counter share a budget. */
export interface Budget {
  readonly counter: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /**
   * Calls of one subject are counted together. Callers who share a club's budget also have their own bounds ({@link
   * file://./shared-budgets.policy.ts}).
   */
  readonly scope: 'club' | 'student' | 'administrator' | 'file' | 'key' | 'account' | 'ip';
}

export interface Rule extends Budget {
  /** The limited action, for people. */
  readonly name: string;
  readonly methods: readonly WriteMethod[];
  /** `{parameter}` matches one segment, a final `*` any number. */
  readonly path: string;
  /**
   * While the counters are unavailable: the call passes, counts against a small limit of this process, or gets `503
   * rate_limit_unavailable`.
   */
  readonly whenDown: 'pass' | 'local' | 'refuse';
}

const minute = 60;
const hour = 3_600;
const day = 24 * hour;
const writeMethods: readonly WriteMethod[] = ['POST', 'PUT', 'PATCH', 'DELETE'];
const classroom = '/v1/clubs/{clubId}/classroom';

const writeRate = { limit: 60, windowSeconds: minute };
/** Routes of students and of administrators share this budget (LIM-4, DEC-25). */
const credentials: Budget = { counter: 'credentials', limit: 10, windowSeconds: minute, scope: 'ip' };
/** A student's comments on lessons and posts are counted together. */
const comments: Budget = { counter: 'comments', limit: 10, windowSeconds: minute, scope: 'student' };
/** Booking and canceling are counted together. */
const mentorshipSessions: Budget = { counter: 'mentorship_sessions', limit: 30, windowSeconds: hour, scope: 'student' };

/** Counts removals and demotions of members, and revoked invitations. */
const memberChanges: Budget = { counter: 'member_changes', ...writeRate, scope: 'administrator' };

/** This rule also applies to administrators on classroom paths. */
export const clubWrites: Rule = {
  name: 'Write operations of a club',
  methods: writeMethods,
  path: '/v1/clubs/{clubId}/*',
  counter: 'club_writes',
  ...writeRate,
  scope: 'club',
  whenDown: 'pass',
};

/**
 * The first charge of a student's call on a path of the club (DEC-53). The call is charged to the student, even if it changes nothing.
 */
export const studentWritesOfClub: Rule = {
  ...clubWrites,
  name: 'Writes of a student on a path of the club',
  counter: 'student_club_writes',
  limit: 30,
  scope: 'student',
};

/** All students of a club together; the rest of {@link clubWrites} is reserved for administrators (DEC-53). */
export const studentsShareOfClub: Rule = {
  ...clubWrites,
  name: "Changes of the club's students",
  counter: 'club_writes_of_students',
  limit: 30,
};

/** All API keys of a club together; the rest of {@link clubWrites} is reserved for people (KEY-5). */
export const keysShareOfClub: Rule = {
  ...clubWrites,
  name: 'Writes of all API keys of a club',
  counter: 'club_writes_of_keys',
  limit: 45,
};

/**
 * Calls without a valid session or membership, on paths that otherwise charge a club or a student. They charge the address, so that an
 * outsider cannot use up a club's 60 calls.
 */
export const refusedCalls: Rule = {
  name: 'Refused write operations',
  methods: writeMethods,
  path: '/*',
  counter: 'refused_calls',
  ...writeRate,
  scope: 'ip',
  whenDown: 'pass',
};

const quarterOfAnHour = 900;

/**
 * Failed sign-ins of an account (LIM-26). All unknown sources share one count, and each known device or network has its own count. So the
 * tries of strangers do not block the owner's devices.
 */
export const failedSignIns: Budget = {
  counter: 'failed_sign_ins',
  limit: 10,
  windowSeconds: quarterOfAnHour,
  scope: 'account',
};
export const failedSignInsOfSource: Budget = { ...failedSignIns, counter: 'failed_sign_ins_of_source' };

/**
 * Wrong second factors of an account (FAC-7). The wait grows: after five in a quarter of an hour it is at most this quarter, after twenty
 * in a day at most this day. Sources are counted as in {@link failedSignIns}, so a stranger who knows the password does not block the
 * owner's devices.
 */
export const wrongFactors: readonly Budget[] = [
  { counter: 'wrong_factors', limit: 5, windowSeconds: quarterOfAnHour, scope: 'account' },
  { counter: 'wrong_factors_of_day', limit: 20, windowSeconds: day, scope: 'account' },
];
/** Wrong present passwords of a session that changes the password (SES-7). They do not count for sign-ins. */
export const wrongOwnPasswords: Budget = { ...failedSignIns, counter: 'wrong_own_passwords' };

/** LIM-27. */
export const wrongCodesOfStudent: Budget = {
  counter: 'wrong_registration_codes',
  limit: 10,
  windowSeconds: hour,
  scope: 'student',
};
export const wrongCodesOfSource: Budget = {
  counter: 'wrong_registration_codes_of_source',
  limit: 60,
  windowSeconds: hour,
  scope: 'ip',
};

/** Charges a student, or a club's library. Uploads have their own listener (LIM-22). */
export const uploadCreations: Budget = { counter: 'upload_creations', ...writeRate, scope: 'student' };
export const libraryUploadCreations: Budget = {
  ...uploadCreations,
  counter: 'library_upload_creations',
  scope: 'club',
};

/** Counted on the file listener. A client that downloads an archive in parts makes several requests (LIM-23). */
export const archiveRequests: Budget = { counter: 'archive_requests', ...writeRate, scope: 'student' };

/** The page needs no session. A person opens only a few (LIM-29). */
export const previewPages: Budget = { counter: 'preview_pages', ...writeRate, scope: 'ip' };

/** The address of a certificate of erasure needs no session, and a PDF is expensive to draw (ERS-32). */
export const erasureProofs: Budget = { counter: 'erasure_proofs', ...writeRate, scope: 'ip' };

export const sessionLinksCounter = 'session_links';

/** Charged before the row for session links, so that a loop for one student leaves the links of the others (ENTRY-5). */
export const sessionLinksOfStudent: Budget = {
  counter: 'session_links_of_student',
  limit: 10,
  windowSeconds: minute,
  scope: 'student',
};

/**
 * If several rows match, the most specific applies ({@link ruleFor}). The order has no meaning.
 *
 * - The credential limit is only for `POST`, so it does not count `GET` and `DELETE` of `/v1/auth/session`. `GET` is a read. `DELETE` falls
 * under the row for writes "elsewhere".
 * - `POST /webhooks/billing` does not match `{platform}/{token}`, so it also falls under the row for writes "elsewhere". That is enough:
 * the payment processor sends the plan changes one by one, and repeats a change after a 429.
 */
export const rules: readonly Rule[] = [
  {
    name: 'Write operations elsewhere',
    methods: writeMethods,
    path: '/*',
    counter: 'writes',
    ...writeRate,
    scope: 'ip',
    whenDown: 'pass',
  },
  clubWrites,
  { name: 'Credentials', methods: ['POST'], path: '/v1/auth/*', ...credentials, whenDown: 'refuse' },
  {
    name: 'Credentials of administrators',
    methods: ['POST'],
    path: '/v1/auth/admin/*',
    ...credentials,
    whenDown: 'local', // only the classroom's credential routes are refused (LIM-18); here the local limit prevents guessing (DEC-29)
  },
  { name: 'Proofs in a session', methods: ['POST'], path: '/v1/me/proof', ...credentials, whenDown: 'local' },
  { name: 'Classroom sign-up', methods: ['POST'], path: `${classroom}/sign-up`, ...credentials, whenDown: 'refuse' },
  {
    name: 'Notices of sales platforms and mail providers',
    methods: ['POST'],
    path: '/webhooks/{platform}/{token}',
    counter: 'platform_notices',
    limit: 600,
    windowSeconds: minute,
    scope: 'ip',
    whenDown: 'pass',
  },
  {
    // Most providers post one request for each event, and a club sends up to 6,000 mails a minute.
    name: 'Notices of mail providers in their own formats',
    methods: ['POST'],
    path: '/webhooks/mail/{provider}/{token}',
    counter: 'provider_notices',
    limit: 6_000,
    windowSeconds: minute,
    scope: 'ip',
    whenDown: 'pass',
  },
  // Administrator A may have to end the rights of administrator B. The calls of B must not use up the calls that A needs for this (LIM-25).
  {
    name: 'Removing and demoting members',
    methods: ['DELETE', 'PATCH'],
    path: '/v1/clubs/{clubId}/members/{administratorId}',
    ...memberChanges,
    whenDown: 'pass',
  },
  {
    name: 'Revoking invitations',
    methods: ['DELETE'],
    path: '/v1/clubs/{clubId}/invitations/{invitationId}',
    ...memberChanges,
    whenDown: 'pass',
  },
  {
    name: 'Changes of the own account',
    methods: ['PATCH'],
    path: '/v1/auth/session',
    counter: 'own_account_changes',
    limit: 20,
    windowSeconds: hour,
    scope: 'student',
    whenDown: 'pass',
  },
  {
    name: 'Own pictures of administrators',
    methods: ['PUT'],
    path: '/v1/me/avatar',
    counter: 'own_pictures',
    limit: 20,
    windowSeconds: hour,
    scope: 'administrator',
    whenDown: 'pass',
  },
  {
    name: 'Creating API keys',
    methods: ['POST'],
    path: '/v1/clubs/{clubId}/api-keys',
    counter: 'api_keys',
    limit: 30,
    windowSeconds: hour,
    scope: 'club',
    whenDown: 'pass',
  },
  {
    name: 'Session links',
    methods: ['POST'],
    path: '/v1/clubs/{clubId}/students/{studentId}/session-links',
    counter: sessionLinksCounter,
    limit: 600,
    windowSeconds: minute,
    scope: 'club',
    whenDown: 'pass',
  },
  {
    name: 'Test mails of campaigns',
    methods: ['POST'],
    path: '/v1/clubs/{clubId}/campaigns/{campaignId}/test-mails',
    counter: 'test_mails',
    limit: 20,
    windowSeconds: hour,
    scope: 'club',
    whenDown: 'pass',
  },
  {
    name: 'Imports of suppressions',
    methods: ['POST'],
    path: '/v1/clubs/{clubId}/mail/suppressions/import',
    counter: 'suppression_imports',
    limit: 20,
    windowSeconds: hour,
    scope: 'club',
    whenDown: 'pass',
  },
  {
    name: 'Settings of a mail domain',
    methods: writeMethods,
    path: '/v1/clubs/{clubId}/mail/domain/*',
    counter: 'mail_domains',
    limit: 30,
    windowSeconds: hour,
    scope: 'club',
    whenDown: 'pass',
  },
  {
    name: 'Classroom writes',
    methods: writeMethods,
    path: `${classroom}/*`,
    counter: 'classroom_writes',
    limit: 600,
    windowSeconds: minute,
    scope: 'student',
    whenDown: 'pass',
  },
  {
    name: 'Exports of the own data',
    methods: ['POST'],
    path: `${classroom}/exports`,
    counter: 'own_exports',
    limit: 10,
    windowSeconds: hour,
    scope: 'student',
    whenDown: 'pass',
  },
  {
    name: 'Publish comment on a lesson',
    methods: ['POST'],
    path: `${classroom}/lessons/{publicId}/comments`,
    ...comments,
    whenDown: 'pass',
  },
  {
    name: 'Publish comment on a post',
    methods: ['POST'],
    path: `${classroom}/posts/{publicId}/comments`,
    ...comments,
    whenDown: 'pass',
  },
  {
    name: 'Publish community post',
    methods: ['POST'],
    path: `${classroom}/community/spaces/{spaceId}/posts`,
    counter: 'community_posts',
    limit: 20,
    windowSeconds: hour,
    scope: 'student',
    whenDown: 'pass',
  },
  {
    name: 'Book a mentorship session',
    methods: ['POST'],
    path: `${classroom}/mentorships/{publicId}/bookings`,
    ...mentorshipSessions,
    whenDown: 'pass',
  },
  {
    name: 'Cancel a mentorship session',
    methods: ['DELETE'],
    path: `${classroom}/mentorships/{publicId}/sessions/{sessionId}`,
    ...mentorshipSessions,
    whenDown: 'pass',
  },
  {
    name: 'Agent question',
    methods: ['POST'],
    path: `${classroom}/agents/{publicId}/messages`,
    counter: 'agent_questions',
    limit: 20,
    windowSeconds: minute,
    scope: 'student',
    whenDown: 'pass',
  },
];

/** The rows with split paths, the paths with the most literal segments first. */
const bySpecificity = rules
  .map((rule) => {
    const segments = segmentsOf(rule.path);
    const openEnded = segments.at(-1) === '*';
    const fixed = openEnded ? segments.slice(0, -1) : segments;
    return { rule, fixed, openEnded, literals: fixed.filter((segment) => !isParameter(segment)).length };
  })
  .toSorted((a, b) => b.literals - a.literals);

/**
 * The matching row with the most literal segments.
 *
 * The path need not belong to an operation, so unknown paths are limited, too. A router or a proxy may accept other spellings of a path
 * (case, percent-encoding, doubled and trailing slashes). All lead to one row.
 *
 * @param request the path as the router matches it: percent-encoded, without origin, query and fragment. Otherwise a request with an
 * absolute URI could avoid its row.
 * @returns undefined for reads
 */
export function ruleFor(request: { readonly method: string; readonly path: string }): Rule | undefined {
  const method = writeMethods.find((candidate) => candidate === request.method.toUpperCase());
  if (method === undefined) return undefined;
  const segments = segmentsOf(request.path);
  return bySpecificity.find(
    ({ rule, fixed, openEnded }) =>
      rule.methods.includes(method) &&
      (openEnded ? segments.length >= fixed.length : segments.length === fixed.length) &&
      fixed.every((segment, index) => isParameter(segment) || segment === segments[index]),
  )?.rule;
}

/** Splits before it decodes, like the router, so an encoded slash stays inside its segment. */
function segmentsOf(path: string): readonly string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decoded(segment).toLowerCase());
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // a segment with a malformed encoding equals no literal segment of a rule, but may match a parameter
  }
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
