/** Every workflow type that workers run. Most workflows only repeat one step until the row of the workflow has ended (ENG-1). */
import type { Activities } from '../activities/index.ts';
import { answerRules } from '../domain/agents/answers/answers.policy.ts';
import { inAbout } from '../platform/core/time/durations.policy.ts';
import { stepWorkflow, untilItSucceeds } from './step-workflow.ts';

export { beginDigests } from './begin-digests.ts';
export { fetchReports } from './fetch-reports.ts';
export { retention } from './retention.ts';
export { sweep } from './sweep.ts';
export { webhookDelivery } from './webhook-delivery.ts';

const nextAttempt = ({ attempt, at }: { attempt: number; at: number }) =>
  `attempt ${attempt} ${inAbout(at - Date.now())}`;

/** One add-on, from its purchase until its payment is settled. */
export const addOn = stepWorkflow<Activities['addOn'], 'settle'>(
  'settle',
  { startToCloseTimeout: '70s' }, // longer than the lease of 60 s, so that a retry can claim the row again
  { waitingFor: nextAttempt },
);

/** The charge for the overage of one resource in one month, from the end of the month until the charge is on an invoice. */
export const overageCharge = stepWorkflow<Activities['overageCharge'], 'chargeOverage'>(
  'chargeOverage',
  { startToCloseTimeout: '130s' }, // longer than the lease of 120 s, so that a retry can claim the row again
  {
    waitingFor: ({ attempt, at, isCharged }) =>
      isCharged ? `its invoice ${inAbout(at - Date.now())}` : nextAttempt({ attempt, at }),
  },
);

/** One transactional mail, from its request until it is sent or has failed for good. */
export const transactionalMail = stepWorkflow<Activities['transactionalMail'], 'sendMail'>(
  'sendMail',
  { startToCloseTimeout: '70s' }, // longer than the 45 s of the SMTP client and the lease of 60 s, so that a retry can claim the row again
  { waitingFor: nextAttempt },
);

/** One code to a telephone number, from its request until it is sent, has failed for good or has expired. */
export const phoneCode = stepWorkflow<Activities['phoneCode'], 'sendPhoneCode'>(
  'sendPhoneCode',
  { startToCloseTimeout: '30s' }, // longer than the attempt of 15 s and the lease of 25 s, so that a retry can claim the row again
  { waitingFor: nextAttempt },
);

const campaignWaits = {
  start: 'its start',
  resume: 'its resumption by a person',
  window: 'its send window',
  rate: 'the rate of its sender',
  day: 'the next day, because its club or its domain is new and has sent enough today,',
  retries: 'the next attempt',
  server: 'the mail server, which is not reached',
  under_way: 'mails that are under way',
  page: 'the next page',
} as const;

/**
 * One campaign, from the time when it is scheduled until the outcome for its last recipient is known. Each step sends one page of mails.
 */
export const campaignRun = stepWorkflow<Activities['campaignRun'], 'sendCampaign'>(
  'sendCampaign',
  {
    startToCloseTimeout: '5m', // claiming takes 10 s, the last mails a minute, and their records 2 min while Postgres is down
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal soon notices a dead worker
  },
  {
    waitingFor: ({ at, waitingFor, settled, recipients }) =>
      [
        ...(recipients === 0 ? [] : [`${settled} of ${recipients} settled`]),
        `${campaignWaits[waitingFor]}${at === undefined ? '' : ` ${inAbout(at - Date.now())}`}`,
      ].join('; '),
  },
);

/** One test mail of a campaign, from its request until it is sent or has failed for good. */
export const testMail = stepWorkflow<Activities['testMail'], 'sendTestMail'>(
  'sendTestMail',
  { startToCloseTimeout: '130s' }, // longer than the lease of 120 s, so that a retry can claim the row again
  { waitingFor: nextAttempt },
);

/** One mail domain of a club, until the club removes the domain. Each day a step checks the DNS records of the domain. */
export const mailDomain = stepWorkflow<Activities['mailDomain'], 'lookAtMailDomain'>(
  'lookAtMailDomain',
  { startToCloseTimeout: '30s' }, // the name servers get 10 s for all records together; the other work is a few short statements
  { waitingFor: ({ at, status }) => `the next look at its DNS records ${inAbout(at - Date.now())}; ${status}` },
);

const kindWords: Readonly<Record<string, string>> = {
  send_email: 'an e-mail',
  delay: 'a delay',
  until_time: 'a time of day',
  until_condition: 'a condition',
};

/** One student's way through a version of an automation: one step after another, with waits of up to several months. */
export const automationRun = stepWorkflow<Activities['automationRun'], 'takeStep'>(
  'takeStep',
  {
    startToCloseTimeout: '3m', // an e-mail takes a minute at most, and first waits for a connection; a step can be repeated safely
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal soon notices a dead worker
  },
  {
    waitingFor: ({ at, number, steps, kind, held }) =>
      held
        ? `step ${number} of ${steps}, held by a pause`
        : `step ${number} of ${steps}${at === undefined ? '' : `, ${kindWords[kind] ?? kind} ${inAbout(at - Date.now())}`}`,
  },
);

/** Releases the runs of an automation after a pause, page by page. */
export const automationGate = stepWorkflow<Activities['automationGate'], 'tendAutomationGate'>(
  'tendAutomationGate',
  { startToCloseTimeout: '30s' }, // one transaction of a few statements; Postgres ends a statement after 30 s
  { waitingFor: ({ released }) => `the next page of runs; ${released} were let go` },
);

/** One session of a mentorship, from its booking until all mails about the session have been sent. */
export const mentorshipSession = stepWorkflow<Activities['mentorshipSession'], 'tellOfSession'>(
  'tellOfSession',
  { startToCloseTimeout: '30s' }, // one transaction of a few statements; Postgres ends a statement after 30 s
  {
    waitingFor: ({ at, sequence }) => `the next mail ${inAbout(at - Date.now())}; time ${sequence + 1} of the session`,
  },
);

/**
 * Removes a video that the club's plan does not include, after a warning. The outcome `kept` means that the plan now includes the video.
 */
export const mediaExpiry = stepWorkflow<Activities['mediaExpiry'], 'lookAtMediaExpiry'>(
  'lookAtMediaExpiry',
  { startToCloseTimeout: '1m' }, // a few short statements, and the erasure of a file in the bucket, which takes at most 40 s
  { waitingFor: ({ at, waitingFor }) => `its ${waitingFor} ${inAbout(at - Date.now())}` },
);

const erasureWaits = {
  planned: (in_: string) => `the reminder or the beginning${in_}`,
  closing: (in_: string) => `the next batch that ends work of the club${in_}`,
  rows: (in_: string) => `the next rows${in_}`,
  runs: (in_: string) => `the next look for runs${in_}`,
  objects: (in_: string) => `the end of upload addresses, and another erasure of objects${in_}`,
  completed: () => 'nothing',
} as const;

/** The erasure of one club, from its request until its rows, runs and objects are erased. The outcome of a canceled erasure is `canceled`. */
export const clubErasure = stepWorkflow<Activities['clubErasure'], 'eraseClub'>(
  'eraseClub',
  {
    startToCloseTimeout: '5m', // a step works for some seconds, and then waits for the end of a batch and of the store
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal soon notices a dead worker
  },
  {
    waitingFor({ at, status, rows, runs, objects, table }) {
      const progress = `${status}: ${rows} rows, ${runs} runs and ${objects} objects erased`;
      if (table !== undefined) return `${progress}; the table ${table} is next`;
      return `${progress}; ${erasureWaits[status](at === undefined ? '' : ` ${inAbout(at - Date.now())}`)}`;
    },
  },
);

/** The erasure of a student or an administrator, from the removal of the rows until nothing remains outside Postgres. */
export const personErasure = stepWorkflow<Activities['personErasure'], 'followPersonErasure'>(
  'followPersonErasure',
  { startToCloseTimeout: '70s' }, // longer than the lease of 60 s, so that a retry can claim the row again
  {
    waitingFor: ({ at, remaining }) =>
      remaining === undefined
        ? `the end of the step of another worker ${inAbout(at - Date.now())}`
        : `${remaining.files} files in the bucket and ${remaining.receivers} receivers; it looks again ${inAbout(at - Date.now())}`,
  },
);

/**
 * Completes a course for students who did nothing themselves, for example after a lesson was withdrawn or when their access begins. Each
 * step checks one page of students.
 */
export const courseCompletion = stepWorkflow<Activities['courseCompletion'], 'judgeCompletions'>(
  'judgeCompletions',
  {
    startToCloseTimeout: '1m', // fifty short transactions take a second; a repeated step skips students who were already checked
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal soon notices a dead worker
  },
  {
    waitingFor: ({ at }) =>
      at === undefined ? 'the next students' : `an access that begins ${inAbout(at - Date.now())}`,
  },
);

/**
 * Updates the memberships of a space, because the space admits every student with access, or because it becomes private. Each step handles
 * one page of students.
 */
export const spaceFill = stepWorkflow<Activities['spaceFill'], 'fillSpace'>(
  'fillSpace',
  { startToCloseTimeout: '1m' }, // one transaction of a few statements; Postgres ends a statement after 30 s
  { waitingFor: ({ waits }) => (waits ? 'transactions that began before it' : 'the next page of students') },
);

const digestWaits = {
  rate: 'the rate of its sender',
  day: 'the next day, because its club or its domain is new and has sent enough today,',
  retries: 'the next attempt',
  server: 'the mail server, which is not reached or refuses',
  under_way: 'mails that are under way',
  page: 'the next page',
} as const;

/** The daily mail of a club's spaces for one date. The workflow handles one page of members after another, and sends their mails. */
export const spaceDigest = stepWorkflow<Activities['spaceDigest'], 'sendDigest'>(
  'sendDigest',
  {
    startToCloseTimeout: '5m', // claiming takes 10 s, the last mails a minute, and their records 2 min while Postgres is down
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal soon notices a dead worker
  },
  {
    waitingFor: ({ at, waitingFor, page, pages, settled, recipients }) =>
      [
        `page ${page} of ${pages}`,
        `${settled} of ${recipients} mails settled`,
        `${digestWaits[waitingFor]}${at === undefined ? '' : ` ${inAbout(at - Date.now())}`}`,
      ].join('; '),
  },
);

/** One notice of a sales platform, from its arrival until it is processed, ignored or failed. */
export const salesNotice = stepWorkflow<Activities['salesNotice'], 'processNotice'>(
  'processNotice',
  { startToCloseTimeout: '15s' }, // longer than the lease of 10 s, so that a retry can claim the row again
  { waitingFor: nextAttempt },
);

/**
 * The end of the access after a canceled subscription. An administrator may change the end. The outcome `open` means that the access no
 * longer has an end.
 */
export const subscriptionEnd = stepWorkflow<Activities['subscriptionEnd'], 'lookAtSubscriptionEnd'>(
  'lookAtSubscriptionEnd',
  { startToCloseTimeout: '30s' }, // two short statements; Postgres ends a statement after 30 s
  { waitingFor: ({ at }) => `the end of the access ${inAbout(at - Date.now())}` },
);

/** One import of students, from the upload of the file until the file is removed. Each step imports one batch of rows. */
export const studentImport = stepWorkflow<Activities['studentImport'], 'importRows'>(
  'importRows',
  {
    startToCloseTimeout: '1m', // a batch takes a second or two; a slow batch can be repeated safely
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal notices a dead worker after 10 s instead of a minute
  },
  {
    waitingFor({ at, status, rowsDone, rowsTotal }) {
      if (at === undefined) return `${status}: ${rowsDone} of about ${rowsTotal ?? '?'} rows`;
      return status === 'pending' || status === 'running' ? 'the end of the import before it' : 'the end of the upload';
    },
  },
);

/** One bulk job, from its request until each row has an outcome. It processes one batch of rows after another. */
export const bulkJob = stepWorkflow<Activities['bulkJob'], 'applyRows'>(
  'applyRows',
  {
    startToCloseTimeout: '1m', // a batch takes some tenths of a second; repeating a slow batch is safe
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s, so Temporal notices a dead worker after 10 s instead of a minute
  },
  {
    waitingFor: ({ at, status, rowsDone, rowsTotal }) =>
      at === undefined ? `${status}: ${rowsDone} of ${rowsTotal} rows` : 'the end of the bulk job before it',
  },
);

/** An export of a club, from its request until its archive is erased. Each step reads records for some seconds. */
export const clubExport = stepWorkflow<Activities['clubExport'], 'exportClub'>(
  'exportClub',
  {
    startToCloseTimeout: '6h', // enough to join the largest archive with a slow store; a step of records takes some seconds
    heartbeatTimeout: '20s', // the step sends a heartbeat every 5 s, so Temporal soon notices a dead worker
  },
  {
    waitingFor: ({ at, status, records, types, ofTypes }) =>
      at !== undefined
        ? `${status}: the next look at its objects ${inAbout(at - Date.now())}`
        : `${status}: ${types} of ${ofTypes} record types, ${records} records`,
  },
);

/**
 * The indexing of a lesson or a file for agents. It ends when the passages are stored, the indexing has failed, or the lesson or file is
 * deleted.
 */
export const sourceIndex = stepWorkflow<Activities['sourceIndex'], 'indexSource'>(
  'indexSource',
  {
    startToCloseTimeout: '10m', // reading takes up to two minutes, OCR up to six; the store and Postgres need the rest for a large file
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s; the lease of a dead worker also ends after 10 s
  },
  {
    during: 'Indexing: the pending activity says how far it is',
    waitingFor: (waiting) =>
      waiting.for === 'ocr' ? `a permit for OCR; it asks ${inAbout(waiting.at - Date.now())}` : nextAttempt(waiting),
    ended({ outcome, error, pages, passages }) {
      if (error !== undefined) return `${outcome}: ${error}`;
      if (passages === undefined) return outcome;
      return `${outcome}: ${pages === undefined ? '' : `${pages} pages, `}${passages} passages`;
    },
  },
);

const readyWaits = {
  turn: 'its next step',
  place: 'a permit beside other videos',
  disk: 'room on the disk for the video',
  addresses: 'the end of the addresses of its original',
} as const;

/** The processing of an uploaded file. It ends when the file can be delivered, the processing has failed, or the file is removed. */
export const mediaProcessing = stepWorkflow<Activities['mediaProcessing'], 'processFile'>(
  'processFile',
  {
    startToCloseTimeout: '6h', // enough to transcode the longest video; heartbeats show Temporal a dead worker sooner
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s; the lease of a dead worker also ends after 10 s
  },
  {
    during: 'Processing: the pending activity says how far it is',
    waitingFor: ({ at, faults, for: reason }) =>
      reason === undefined
        ? `another try ${inAbout(at - Date.now())}, after ${faults} fault(s) of ours`
        : `${readyWaits[reason]} ${inAbout(at - Date.now())}; the file is ready`,
    ended: ({ outcome, error }) => (error === undefined ? outcome : `${outcome}: ${error}`),
  },
);

/** The move of a file between buckets, until the file is in the requested bucket or is removed. */
export const mediaMove = stepWorkflow<Activities['mediaMove'], 'moveFile'>(
  'moveFile',
  {
    startToCloseTimeout: '6h', // enough for the largest file with a slow store; heartbeats show Temporal a dead worker sooner
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s; the lease of a dead worker also ends after 10 s
  },
  {
    during: 'Copying: the pending activity says so',
    waitingFor: ({ at }) => `another look ${inAbout(at - Date.now())}`,
  },
);

/** The export of one student, from the request until its file can be downloaded, has failed, or the student is removed. */
export const studentExport = stepWorkflow<Activities['studentExport'], 'exportStudent'>(
  'exportStudent',
  {
    startToCloseTimeout: '1h', // enough for some 50 GB of files; heartbeats show Temporal a dead worker sooner
    heartbeatTimeout: '15s', // the step sends a heartbeat every 5 s; the lease of a dead worker ends after 30 s
  },
  {
    during: 'Exporting: the pending activity says how far it is',
    waitingFor: nextAttempt,
  },
);

/** The subtitles of one file, from the request until they exist, the work has failed, or the file is removed. */
export const mediaTranscription = stepWorkflow<Activities['mediaTranscription'], 'transcribeFile'>(
  'transcribeFile',
  {
    startToCloseTimeout: '8h', // the command takes up to 6 h, extracting the sound up to 1 h; heartbeats show Temporal a dead worker sooner
    heartbeatTimeout: '10s', // the step sends a heartbeat every 2.5 s; the lease of a dead worker also ends after 10 s
  },
  {
    during: 'Making subtitles: the pending activity says how far it is',
    waitingFor: nextAttempt,
    ended: ({ outcome, error }) => (error === undefined ? outcome : `${outcome}: ${error}`),
  },
);

/** One answer of an agent, from the question to the end of the answer. The outcome contains the model, tokens and cost, but no text. */
export const agentAnswer = stepWorkflow<Activities['agentAnswer'], 'generateAnswer'>(
  'generateAnswer',
  {
    startToCloseTimeout: '15m', // an answer streams for minutes; the step ends itself after 13 minutes
    heartbeatTimeout: '20s', // as long as a lease, because the answer of a dead worker cannot be claimed before its lease ends
    retry: { ...untilItSucceeds, maximumInterval: '10s' }, // a student waits
  },
  {
    waitingFor: ({ waitingFor, call, at }) =>
      waitingFor === 'call'
        ? `request ${call} of ${answerRules.calls} to the model ${inAbout(at - Date.now())}`
        : `the end of request ${call}, which is under way`,
    ended({ outcome }) {
      if (!('model' in outcome)) return outcome.status;
      const { status, error_code: error, model, calls, input_tokens: input, output_tokens: output } = outcome;
      const { cache_read_tokens: read, cost_micros: cost } = outcome;
      const why = error === undefined ? '' : ` (${error})`;
      return `${status}${why}: ${model}, ${calls} request(s), ${input} tokens in, ${read} from the cache, ${output} out, ${cost} millionths of a dollar`;
    },
  },
);

const gateWaits = {
  paused: () => 'the endpoint to be enabled again',
  holding: (in_: string) => `the end of the circuit breaker's wait ${in_}`,
  probing: () => 'the attempt that was let through',
  idle: () => 'a delivery to try: throttled, and none is due',
  releasing: () => 'the next page to release',
  recovering: () => 'recovered deliveries, a few at a time',
  canceling: () => 'the rest of the queue to be canceled',
} as const;

/** The gate of one endpoint. The workflow exists while the endpoint is throttled, is paused or has parked deliveries. */
export const endpointGate = stepWorkflow<Activities['endpointGate'], 'tendGate'>(
  'tendGate',
  { startToCloseTimeout: '30s' }, // one transaction of a few statements; Postgres ends a statement after 30 s
  {
    waitingFor: ({ doing, at, parked, givenUpAt }) =>
      [
        gateWaits[doing](inAbout(at - Date.now())),
        `${parked} parked`,
        ...(givenUpAt === undefined ? [] : [`disabled as failing ${inAbout(givenUpAt - Date.now())}`]),
      ].join('; '),
  },
);
