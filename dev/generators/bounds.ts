/** Every bound of a person, a club or an IP address, read from the service's own data. A new bound is a new row here. */
import { bounds as downloadBounds } from '../../api/files/download-permits.ts';
import { resumableUploads, singleUploads } from '../../api/files/upload-permits.ts';
import * as limits from '../../api/rate-limits/rules.policy.ts';
import type { Budget } from '../../api/rate-limits/rules.policy.ts';
import { sharedBudget, type SpenderKind } from '../../api/rate-limits/shared-budgets.policy.ts';
import { declarations } from '../../config.ts';
import { agentDefaults } from '../../domain/agents/agents.policy.ts';
import { bulkRules } from '../../domain/bulk/bulk.policy.ts';
import { importRules } from '../../domain/access/imports/imports.policy.ts';
import { assignmentRules } from '../../domain/assignments/assignments.policy.ts';
import { mostOfAClub as automationsOfAClub } from '../../domain/automations/versions/drafts.ts';
import { plans } from '../../domain/billing/plans.policy.ts';
import { printedLogoRules } from '../../domain/branding/printed-look.ts';
import { campaignsPerClub } from '../../domain/campaigns/drafts/drafts.ts';
import { maxRows as rowsOfASuppressionImport } from '../../domain/campaigns/suppression-import.ts';
import { slugRules } from '../../domain/clubs/slugs.ts';
import { maxSpaces } from '../../domain/community/spaces.ts';
import { repetitionRules } from '../../domain/idempotency/repetitions.policy.ts';
import { pendingSignUpRules } from '../../domain/identity/accounts/pending-sign-ups.policy.ts';
import { challengesKept } from '../../domain/identity/factors/challenges.ts';
import { factorRules } from '../../domain/identity/factors/factors.ts';
import { phoneCodeRules } from '../../domain/identity/phones/codes.policy.ts';
import { identitiesPerAccount } from '../../domain/identity/providers/identities.ts';
import { joinRules } from '../../domain/identity/providers/joins.ts';
import { signInLifetimeMs } from '../../domain/identity/providers/sign-in-tokens.ts';
import { sessionLinkRules } from '../../domain/identity/sessions/session-links.policy.ts';
import { administratorSessionMaxMs, maxSessions, sessionLifetimeMs } from '../../domain/identity/sessions/sessions.ts';
import { maxLessons, maxModules } from '../../domain/learning/courses/courses.ts';
import { codeTries, withheldTriesADay, wrongCodesADay } from '../../domain/mail/codes/codes.policy.ts';
import { tokenLifetimeMs } from '../../domain/mail/codes/one-time-tokens.ts';
import { requestRules } from '../../domain/mail/transactional/request-bounds.policy.ts';
import { suppressionsPerClub } from '../../domain/mail/suppressions/suppressions.ts';
import { fetchingRules } from '../../domain/mail/notices/reports/fetch-reports.ts';
import { mostReportBytes, reportThreadRules } from '../../domain/mail/notices/reports/read-report.ts';
import { ocrRules } from '../../domain/knowledge/indexing/ocr.policy.ts';
import { folderRules } from '../../domain/media/library/folders.ts';
import { mediaRules, mostBytes, resumableRules } from '../../domain/media/media.policy.ts';
import { transcriptionRules } from '../../domain/media/transcriptions/transcription.policy.ts';
import { maxMentorships } from '../../domain/mentorships/mentorships.ts';
import { apiKeyRules } from '../../domain/identity/api-keys/keys.policy.ts';
import { passkeyRules } from '../../domain/identity/passkeys/passkeys.policy.ts';
import { listenerRules } from '../../domain/webhooks/listeners/listeners.policy.ts';
import { endpointRules } from '../../domain/webhooks/endpoints/endpoints.policy.ts';
import { jsonBounds, noticeBounds } from '../../platform/core/json.ts';
import { mailPictureRules } from '../../platform/infra/images/mail-picture.ts';
import { providerPermits } from '../../platform/infra/openid/permits.ts';
import { ocrBounds } from '../../platform/infra/programs/ocr-program.ts';
import { maxInFlight, maxPerClub } from '../../worker/relay/relay.ts';
import { slots } from '../../worker/temporal/task-queues.ts';
import { variablesIn } from '../../platform/infra/variables.ts';

export interface Bound {
  readonly what: string;
  /** The owner of this bound: a club, a person, an address, a file or a process. */
  readonly of: string;
  readonly most: string;
  /** The effect of the bound, such as the answer to a call beyond it. */
  readonly beyond: string;
}

export interface Section {
  readonly title: string;
  readonly intro: string;
  readonly bounds: readonly Bound[];
}

const hour = 3_600_000;
const number = (value: number) => value.toLocaleString('en-US');
const bytes = (value: number) => (value >= 1_000_000_000 ? `${value / 1_000_000_000} GB` : `${value / 1_000_000} MB`);
const timeOf = (ms: number) =>
  ms >= 48 * hour ? `${ms / (24 * hour)} days` : ms >= hour ? `${ms / hour} h` : `${ms / 60_000} min`;
const windowOf = (seconds: number) =>
  seconds === 60 ? 'a minute' : seconds === 3_600 ? 'an hour' : `in ${seconds / 60} minutes`;

const owners: Readonly<Record<string, string>> = {
  club: 'club',
  student: 'person (student)',
  administrator: 'person (administrator)',
  account: 'account, whether or not it exists',
  file: 'file',
  ip: 'source (address)',
};
const callsOf = (what: string, { limit, windowSeconds, scope }: Budget): Bound => ({
  what,
  of: owners[scope] ?? scope,
  most: `${number(limit)} ${windowOf(windowSeconds)}`,
  beyond: '`429 rate_limited`',
});

/** The largest part of a club's writes for one caller, and the part that is reserved for each caller (LIM-24). */
function sharesOf(kind: SpenderKind): Bound[] {
  const budget = kind === 'file' ? limits.libraryUploadCreations : limits.clubWrites;
  const { own, share, reserve } = sharedBudget(budget, kind);
  const what = kind === 'file' ? 'Uploads to a library' : 'Writes of a club';
  const name = owners[own.scope] ?? own.scope;
  return [
    callsOf(`${what}: budget of each caller`, own),
    { ...callsOf(`${what}: share of each caller, which others cannot use up`, { ...own, limit: share }), of: name },
    callsOf(`${what}: calls beyond the limit that all shares together allow (${name})`, reserve),
  ];
}

const settingOf = (name: string, what: string, of: string, beyond: string): Bound => {
  const variable = variablesIn(declarations).find((one) => one.name === name);
  if (!variable) throw new Error(`dev/generators/bounds.ts names ${name}, which is not a variable of config.ts.`);
  return { what, of, most: `${variable.fallback ?? ''} (\`${name}\`)`, beyond };
};

const calls: Section = {
  title: 'Calls',
  intro:
    'If several rows match a call, only the row with the most literal path applies (DEC-23). Reads are not counted (LIM-3).',
  bounds: [
    ...limits.rules.map((rule) => callsOf(`${rule.name}: ${rule.methods.join(', ')} \`${rule.path}\``, rule)),
    callsOf(limits.studentWritesOfClub.name, limits.studentWritesOfClub),
    callsOf(limits.studentsShareOfClub.name, limits.studentsShareOfClub),
    callsOf(limits.keysShareOfClub.name, limits.keysShareOfClub),
    ...(['admin', 'student', 'file', 'key'] as const).flatMap((kind) => sharesOf(kind)),
    callsOf('Session links of a student', limits.sessionLinksOfStudent),
    callsOf(limits.refusedCalls.name, limits.refusedCalls),
    callsOf('Wrong passwords, from devices and networks that the account does not know', limits.failedSignIns),
    callsOf('Wrong passwords, from each device or network that the account knows', limits.failedSignInsOfSource),
    callsOf('Wrong present passwords of a session that changes the password', limits.wrongOwnPasswords),
    ...limits.wrongFactors.map((budget) =>
      callsOf('Wrong second factors, from unknown sources or from each known device or network', budget),
    ),
    callsOf('Wrong codes of registration links', limits.wrongCodesOfStudent),
    callsOf('Wrong codes of registration links', limits.wrongCodesOfSource),
    callsOf('Resumable uploads that a student begins', limits.uploadCreations),
    callsOf("Resumable uploads that begin for a club's library", limits.libraryUploadCreations),
    callsOf('Requests for an archive', limits.archiveRequests),
    callsOf('Pages of previews: GET `/mail/previews/{token}`', limits.previewPages),
    callsOf('Certificates of erasure: GET `/v1/erasures/{erasureToken}`', limits.erasureProofs),
  ],
};

const halfOfFree = 'its own permits are at most as many as the free permits (DEC-121)';

const placesOf = (what: string, { process, student }: Readonly<Record<'process' | 'student', number>>) =>
  [
    { what, of: 'person (student)', most: number(student), beyond: '`503 busy`' },
    { what, of: 'club', most: halfOfFree, beyond: '`503 busy`' },
    { what, of: 'process', most: number(process), beyond: '`503 busy`' },
  ] as const;

const places: Section = {
  title: 'Simultaneous work',
  intro: 'Each process applies these bounds separately.',
  bounds: [
    ...placesOf('Simultaneous writes of resumable uploads', resumableUploads.bounds),
    ...placesOf('Uploads in one request', singleUploads.bounds),
    ...placesOf('Downloads of archives', downloadBounds),
    settingOf('STREAMS_PER_STUDENT', 'Open streams of answers and events', 'person (student)', '`429 rate_limited`'),
    {
      what: 'Sign-ins at an identity provider',
      of: 'provider',
      most: number(providerPermits.ofProvider),
      beyond: '`503 busy`',
    },
    { what: 'Sign-ins at identity providers', of: 'process', most: number(providerPermits.all), beyond: '`503 busy`' },
    { what: 'Open streams of answers and events', of: 'club', most: halfOfFree, beyond: '`429 rate_limited`' },
    settingOf('STREAMS_PER_PROCESS', 'Open streams of answers and events', 'process', '`429 rate_limited`'),
    {
      what: 'Facts and wakes that a relay handles',
      of: 'club',
      most: number(maxPerClub),
      beyond: 'waits, while rows of other clubs are handled',
    },
    { what: 'Facts and wakes that a relay handles', of: 'process', most: number(maxInFlight), beyond: 'waits' },
    {
      what: 'Files that are processed, read for agents, or moved',
      of: 'club',
      most: 'its own permits are at most as many as the free permits (ENG-20)',
      beyond: 'waits; other files go first',
    },
    ...(['indexing', 'moves'] as const).map((queue) => ({
      what: `Steps on the queue \`${queue}\``,
      of: 'process',
      most: number(slots[queue].activities),
      beyond: 'waits',
    })),
    { what: 'Files that OCR reads', of: 'process', most: '1; one club after the other (ENG-21)', beyond: 'waits' },
    { what: 'Pages of a file that OCR reads', of: 'file', most: number(ocrRules.maxPages), beyond: '`ocr_failed`' },
    {
      what: 'Memory of each process of OCR',
      of: 'file',
      most: `${ocrBounds.memoryMb} MB`,
      beyond: '`ocr_failed`',
    },
    { what: 'Minutes of OCR', of: 'file', most: number(ocrRules.timeMs / 60_000), beyond: '`ocr_failed`' },
    {
      what: 'Files for which a command makes subtitles (MED-34)',
      of: 'process',
      most: `${slots.subtitles.activities}; one club after the other (ENG-9)`,
      beyond: 'waits',
    },
    {
      what: 'Languages in which subtitles are being made',
      of: 'video or sound',
      most: '1',
      beyond: '`409 transcription_pending`',
    },
    {
      what: 'Time of the command that makes subtitles',
      of: 'file',
      most: `${transcriptionRules.timesItsLength} times its length, ${transcriptionRules.leastMs / 60_000} minutes to ${transcriptionRules.mostMs / 3_600_000} hours`,
      beyond: '`command_failed`',
    },
    {
      what: 'Memory of each process of the command that makes subtitles',
      of: 'file',
      most: `${transcriptionRules.memoryMb} MB`,
      beyond: '`command_failed`',
    },
    {
      what: 'Bytes of subtitles that the command writes',
      of: 'file',
      most: number(transcriptionRules.maxOutputBytes),
      beyond: '`command_failed`',
    },
    {
      what: 'Steps on the queue `media`',
      of: 'process',
      most: '4 to 8, according to the number of cores (DEC-54)',
      beyond: 'waits',
    },
  ],
};

const ofClub = (what: string, most: number, code: string): Bound => ({
  what,
  of: 'club',
  most: number(most),
  beyond: `\`409 ${code}\``,
});

const rows: Section = {
  title: 'Records of a club or a person',
  intro: '',
  bounds: [
    settingOf(
      'CLUBS_PER_ADMINISTRATOR',
      'Clubs that a person owns',
      'person (administrator)',
      '`409 organization_limit_reached`',
    ),
    {
      what: 'Identities at providers',
      of: 'person (administrator)',
      most: number(identitiesPerAccount),
      beyond: '`409 identity_limit_reached`',
    },
    {
      what: 'Open joins of identities',
      of: 'club',
      most: number(joinRules.ofClubProvider),
      beyond: 'the oldest join ends',
    },
    ofClub('Former slugs that still find the club', slugRules.former, 'slug_limit_reached'),
    ofClub('Webhook endpoints', endpointRules.endpointsPerClub, 'endpoint_limit_reached'),
    ofClub('Listeners to events', listenerRules.perClub, 'listener_limit_reached'),
    ofClub('Active API keys', apiKeyRules.perClub, 'key_limit_reached'),
    {
      what: 'Session links that are not used and not expired',
      of: 'person (student)',
      most: number(sessionLinkRules.openPerStudent),
      beyond: 'the oldest link becomes void (ENTRY-5)',
    },
    {
      what: 'Passkeys of a student',
      of: 'person (student)',
      most: number(passkeyRules.perStudent),
      beyond: '`409 passkey_limit_reached`',
    },
    ofClub('Campaigns', campaignsPerClub, 'campaign_limit_reached'),
    ofClub('Automations that are not archived', automationsOfAClub, 'automation_limit_reached'),
    ofClub('Spaces', maxSpaces, 'space_limit_reached'),
    ofClub('Mentorships', maxMentorships, 'mentorship_limit_reached'),
    {
      what: 'Second factors',
      of: 'person (administrator)',
      most: number(factorRules.perAccount),
      beyond: '`409 factor_limit_reached`',
    },
    {
      what: 'Sign-ins that wait for a second factor',
      of: 'person (administrator)',
      most: `${challengesKept.ofAccount}, and ${challengesKept.ofNetwork} from one network`,
      beyond: 'the oldest ends',
    },
    {
      what: 'Upcoming sessions of a mentorship',
      of: 'person (student)',
      most: 'the number that the club sets (`max_upcoming`)',
      beyond: '`409 booking_limit_reached`',
    },
    {
      what: 'Questions to an agent in 24 hours',
      of: 'person (student)',
      most: `${agentDefaults.dailyLimit}, unless the club sets another number (DEC-21)`,
      beyond: '`429 daily_limit_reached`',
    },
    ofClub('Folders of the library', folderRules.folders, 'folder_limit_reached'),
    ofClub('Suppressed addresses', suppressionsPerClub, 'suppression_limit_reached'),
    {
      what: 'Rows of one import of suppressions',
      of: 'club',
      most: number(rowsOfASuppressionImport),
      beyond: '`422 invalid_request`',
    },
    {
      what: 'Modules of a course, lessons of a course',
      of: 'club',
      most: `${maxModules}, ${maxLessons}`,
      beyond: '`422 invalid_request`',
    },
    {
      what: 'Assignments of a lesson',
      of: 'club',
      most: number(assignmentRules.maxOfLesson),
      beyond: '`409 assignment_limit_reached`',
    },
    {
      what: 'Imports of students that have not ended',
      of: 'club',
      most: number(importRules.maxOpen),
      beyond: '`409 too_many_imports`',
    },
    {
      what: 'Bulk jobs that have not ended',
      of: 'club',
      most: number(bulkRules.maxOpen),
      beyond: '`409 too_many_bulk_jobs`',
    },
    {
      what: 'Exports of a club that have not ended',
      of: 'club',
      most: '1',
      beyond: 'the answer is the open export',
    },
    {
      what: 'Students of a bulk job',
      of: 'request',
      most: number(bulkRules.maxStudents),
      beyond: '`422 invalid_request`',
    },
    {
      what: 'Upload addresses of a library that are still valid and still unused, including addresses of deleted files',
      of: 'club',
      most: number(mediaRules.maxLibraryAddresses),
      beyond: '`409 too_many_uploads`',
    },
    {
      what: 'Languages with subtitles',
      of: 'video or sound',
      most: number(mediaRules.maxTracks),
      beyond: '`409 too_many_tracks`',
    },
    {
      what: 'Videos of a library that are being uploaded',
      of: 'club',
      most: number(resumableRules.maxOpen),
      beyond: '`409 too_many_uploads`',
    },
    {
      what: 'Wrong codes a day, after the service did not send the mail with the code',
      of: 'account, source (/24, /48)',
      most: `${withheldTriesADay.account}, ${withheldTriesADay.network}`,
      beyond: '`410 token_gone`',
    },
    {
      what: 'Unconfirmed sign-ups of the last hour',
      of: 'club',
      most: number(pendingSignUpRules.anHour),
      beyond: 'refused (DEC-62)',
    },
    {
      what: 'Unconfirmed sign-ups of the last hour from one network',
      of: 'source (/24, /48)',
      most: number(pendingSignUpRules.anHourOfNetwork),
      beyond: '`429 rate_limited` (DEC-62)',
    },
    {
      what: 'Mails of one template to one address of the club, if the mail lets a person prove the address',
      of: 'club',
      most: `${requestRules.mailsAnHour} an hour, then one every ${timeOf(requestRules.oneMoreEveryMs)}`,
      beyond: 'the mail is not sent, or is sent later (DEC-141)',
    },
    settingOf(
      'MAIL_WARM_UP',
      'Invitations of a new club on its first, second … day',
      'club',
      'sent on the next day whose limit is not reached (DEC-65)',
    ),
    ...Object.entries(plans).flatMap(([plan, { allowances }]) => {
      const of = `club on \`${plan}\``;
      const beyond = (overage: string) => (overage === 'refused' ? '`402 limit_reached`' : 'billed');
      return [
        {
          what: 'Students',
          of,
          most: number(allowances.students.included),
          beyond: beyond(allowances.students.overage),
        },
        {
          what: 'Storage',
          of,
          most: bytes(allowances.storage_bytes.included),
          beyond: beyond(allowances.storage_bytes.overage),
        },
        {
          what: 'Cost of AI in a month, in US dollars',
          of,
          most: number(allowances.ai_budget.included / 100),
          beyond: beyond(allowances.ai_budget.overage),
        },
      ];
    }),
  ],
};

const sizes: Section = {
  title: 'Sizes',
  intro: '',
  bounds: [
    settingOf('BODY_LIMIT_BYTES', 'A JSON body, in bytes', 'call', '`413 body_too_large`'),
    {
      what: 'The number of values in a JSON body, and the depth of their nesting',
      of: 'call',
      most: `${number(jsonBounds.values)}, ${jsonBounds.depth}`,
      beyond: '`400 malformed_request`',
    },
    {
      what: 'Answer that is kept for a repetition',
      of: 'call',
      most: `${repetitionRules.answerBytes / 1_024} KB, ${timeOf(repetitionRules.keptMs)}`,
      beyond: 'not kept: a repetition gets `409 result_removed`',
    },
    {
      what: 'The number of values in a notice, and the depth of their nesting',
      of: 'call',
      most: `${number(noticeBounds.values)}, ${noticeBounds.depth}`,
      beyond: '`400 malformed_request`',
    },
    {
      what: 'A delivery report: what is read of it, and the CPU time for it',
      of: 'message',
      most: `${number(mostReportBytes)} bytes, ${reportThreadRules.workMs / 1_000} s`,
      beyond: 'posted: `400 malformed_request`; fetched: the rest is not read, and the message stays',
    },
    {
      what: 'Messages that a run reads in the mailbox of reports',
      of: 'mailbox',
      most: `${number(20 * fetchingRules.messages)} every 5 min`,
      beyond: 'the next run reads the rest',
    },
    { what: 'The head of a request', of: 'call', most: '16 KB', beyond: '`431 headers_too_large`' },
    ...Object.entries(mostBytes).map(([purpose, of]) => ({
      what: `A file for \`${purpose}\`: ${Object.entries(of)
        .filter(([, most]) => most > 0)
        .map(([kind]) => kind)
        .join(', ')}`,
      of: 'file',
      most: Object.values(of)
        .filter((most) => most > 0)
        .map(bytes)
        .join(', '),
      beyond: '`422 invalid_request`',
    })),
    {
      what: 'The picture of an image for e-mails',
      of: 'file',
      most: `${mailPictureRules.mostBytes / 1_048_576} MiB`,
      beyond: 'a problem of the e-mail (DEC-157)',
    },
    {
      what: 'The picture of a logo on certificates',
      of: 'club',
      most: `${printedLogoRules.mostPictureBytes / 1_024} KiB`,
      beyond: 'the picture is made smaller (DEC-186)',
    },
    {
      what: 'Seconds that a certificate waits for its logo',
      of: 'file',
      most: number(printedLogoRules.patienceMs / 1_000),
      beyond: 'the certificate is printed without the logo (DEC-186)',
    },
    {
      what: 'Pictures of an animation in an e-mail',
      of: 'file',
      most: number(mailPictureRules.frames),
      beyond: 'not animated, with a warning (ADR 55)',
    },
  ],
};

/** Secrets that are mailed, with their lifetimes; `…_sign_up_again` is never mailed. */
const secrets: Section = {
  title: 'Lifetimes of secrets',
  intro: 'Each secret except a session is valid once. Used, expired and unknown secrets get the same answer (ACC-4).',
  bounds: [
    {
      what: 'Session of a student',
      of: 'person (student)',
      most: timeOf(sessionLifetimeMs.student),
      beyond: '`401 unauthenticated`',
    },
    {
      what: 'Session of an administrator',
      of: 'person (administrator)',
      most: `${timeOf(sessionLifetimeMs.admin)} without use, ${timeOf(administratorSessionMaxMs)} in total`,
      beyond: '`401 unauthenticated`',
    },
    { what: 'Sessions', of: 'person', most: number(maxSessions), beyond: 'the session with the oldest use ends' },
    {
      what: 'Code to a telephone number',
      of: 'person (administrator)',
      most: timeOf(phoneCodeRules.lifetimeMs),
      beyond: '`410 token_gone`',
    },
    {
      what: 'Tries of a code to a telephone number',
      of: 'person (administrator)',
      most: number(phoneCodeRules.tries),
      beyond: '`410 token_gone`',
    },
    {
      what: 'Codes to telephone numbers in 24 hours',
      of: 'person (administrator)',
      most: number(phoneCodeRules.ofAdministrator),
      beyond: '`429 rate_limited`',
    },
    {
      what: 'Codes to one telephone number in 24 hours',
      of: 'number',
      most: number(phoneCodeRules.ofNumber),
      beyond: '`429 rate_limited`',
    },
    settingOf('PHONE_CODES_PER_DAY', 'Codes to telephone numbers in 24 hours', 'deployment', '`429 rate_limited`'),
    {
      what: 'Token of a sign-in at an identity provider',
      of: 'person (administrator)',
      most: timeOf(signInLifetimeMs),
      beyond: '`401 provider_sign_in_failed`',
    },
    {
      what: 'Token to join an identity',
      of: 'person (administrator)',
      most: timeOf(joinRules.lifetimeMs),
      beyond: '`401 provider_sign_in_failed`',
    },
    ...Object.entries(tokenLifetimeMs)
      .filter(([purpose]) => !purpose.endsWith('_sign_up_again'))
      .map(([purpose, ms]) => ({ what: `\`${purpose}\``, of: 'person', most: timeOf(ms), beyond: '`410 token_gone`' })),
    { what: 'Tries of one code', of: 'person (student)', most: number(codeTries), beyond: '`410 token_gone`' },
    {
      what: 'Wrong codes a day with five tries for each code',
      of: 'person (student)',
      most: number(wrongCodesADay),
      beyond: 'one try for each code (DEC-61)',
    },
  ],
};

export const boundSections: readonly Section[] = [calls, places, rows, sizes, secrets];
