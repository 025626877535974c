/** Tests that only ids and dates remain after the removal of a student, in every table, in Temporal, in the logs and in the buckets. */
import { expect } from 'chai';
import { startFakeModel, type FakeModel } from '../../dev/fake-model/fake-model.ts';
import { newId } from '../../platform/core/ids.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { keptOfClub, needlesIn, tracesInTables, type Needles } from '../toolkit/assert/traces.ts';
import { buildKnownStudent, type KnownStudent } from '../toolkit/builders/known-student.ts';
import { callAt, type Answer } from '../toolkit/drive/api.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { testBucket } from '../toolkit/stack/storage.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;
const day = 86_400_000;

/** These tables need no row of this student or club. The value says what the table contains. */
const explained: Readonly<Record<string, string>> = {
  add_ons: 'has a club’s amounts and ids of the payment processor',
  billing_customers: 'has a club’s id of the payment processor',
  billing_events: 'has a club’s ids, codes and times of the payment processor',
  club_plans: 'has the name of a club’s plan',
  club_branding: 'has the colour, footer and links of a club',
  club_sign_in_rules: 'has requirements for administrators of a club',
  recovery_codes: 'belongs to an administrator, not to a student',
  second_factors: 'belongs to an administrator, not to a student',
  sign_in_challenges: 'belongs to an administrator, not to a student',
  club_exports:
    'has ids, counts and places of a club’s lists; the removal empties it (test/domain/exports/club-exports.test.ts)',
  club_mail_texts: 'has a club’s texts of mails, with variables in place of names',
  club_feature_changes: 'has the time of a club’s plan change',
  club_storage_changes: 'has changes of a club’s totals, which upkeep soon adds to the totals',
  club_student_changes: 'has changes of a club’s totals, which upkeep soon adds to the totals',
  spent_sign_ins: 'has random ids of sign-ins of administrators',
  overages: 'has months and numbers of a club',
  overage_charges: 'has amounts of a club',
  overage_turns: 'has the time at which a club’s month begins',
  administrator_identities: 'has data of administrators',
  identity_joins: 'has data of administrators',
  identity_providers: 'has the settings of a club’s identity provider',
  invitations: 'has data of administrators',
  passkeys: 'has names of devices and public keys; the removal deletes the rows (test/api/passkeys.test.ts)',
  spent_passkey_challenges: 'has hashes of random numbers',
  audit_entries: 'has ids and names of fields, and no values',
  webhook_listeners: 'has ids of keys and administrators',
  api_keys: 'has names and scopes of a club’s keys',
  club_mail_days: 'has counts of a club’s mails',
  club_bulk_days: 'has counts of a club’s mails',
  mail_domains: 'has domains of a club',
  mail_notice_receipts: 'has hashes of notices',
  report_mailboxes: 'has the progress in a mailbox of the installation',
  media_favorites: 'has data of administrators',
  media_folders: 'has names of a club’s folders',
  leftover_objects: 'has data of library files',
  phone_codes: 'has data of administrators',
  media_moves: 'has data of library files',
  media_renditions: 'has data of library files',
  media_tracks: 'has subtitles of library files',
  media_transcriptions: 'has data of library files',
  media_uses: 'has ids of library files and of the records that use them',
  test_mails: 'has data of administrators',
  repositories: 'has a club’s texts and ids of library files',
  repository_items: 'has ids of library files',
  community_spaces: 'has names and settings of a club',
  space_digests: 'has dates and counts of a club',
  course_completion_looks: 'has ids of courses, and the id of a student during a run',
  automation_course_looks: 'has ids of courses whose lessons changed',
  automation_course_watches: 'has ids of runs and courses',
  erasures: 'has ids, times and counts',
  failing_steps: 'has ids of rows whose last step failed, and a count',
  upkeep_rounds: 'has times of the sweeper’s rounds',
  releases: 'has versions and builds of the service',
  running_processes: 'has versions and builds of the service',
  schema_contractions: 'has versions of the service',
  idempotency_erasures: 'has counts of a club’s removals',
  student_import_addresses: 'has rows only during an import; removals.test.ts covers the table',
};

/** Only the key of the suppressed address may remain, so that an unsubscription also applies to a new account. */
const outlivesRemoval = 'mail_suppressions.address_key: key of the e-mail';

describe('the removal of a student', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  const temporal = useTemporal();
  const delivering = useDeliveries();

  const tag = newId().slice(-10);
  let known: KnownStudent;
  let needles: Needles;
  let model: FakeModel;
  let served: ServedApp;
  let beforeRemoval: { tables: string[]; empty: string[]; runs: number; keys: string[] };
  let afterRemoval: {
    tables: string[];
    temporal: string;
    keys: string[];
    answersAboutStudents: { before: number; after: number };
    page: Answer;
    pages: Answer;
    preview: Answer;
  };

  before('create a student with every kind of record, and remove the student', async function () {
    this.timeout(180 * second);
    model = await startFakeModel();
    const source = await testDatabase();
    served = await serveApp({
      deps: (usual) => {
        const db = new Database(
          source,
          createNotifier(source, () => {}),
        );
        return { ...usual, deps: { ...usual.deps, db } };
      },
    });
    known = await buildKnownStudent({ model, served, startWorker, delivering: delivering(), tag });
    needles = known.needles;
    const { club, studentId, admin, untilQuiet, empty, retain, previewed } = known;
    const bucket = await testBucket();
    const keysOfClub = async () => (await bucket.everyVersion()).filter((key) => key.includes(club.id));
    beforeRemoval = {
      tables: await tracesInTables(needles),
      empty: [...empty].filter((table) => !(table in explained)),
      runs: (await keptOfClub(temporal(), club.id)).runs,
      keys: await keysOfClub(),
    };

    const countAnswers = async () => {
      const [answers] = await source.query<{ count: number }[]>(
        `SELECT count(*)::int FROM idempotency_keys WHERE is_about_student AND answer IS NOT NULL OR caller = $1`,
        [`student:${studentId}`],
      );
      return answers?.count ?? 0;
    };
    const answersBefore = await countAnswers();
    await admin('DELETE', `/students/${studentId}`);
    const answersAboutStudents = { before: answersBefore, after: await countAnswers() };
    await untilQuiet();
    for (const later of [0, 2 * day]) while ((await retain(Date.now() + later)).more);
    const codes = known.certificateCodes.map((code) => `/certificates/${code}`);
    afterRemoval = {
      tables: await tracesInTables(needles),
      temporal: (await keptOfClub(temporal(), club.id)).text,
      keys: await keysOfClub(),
      answersAboutStudents,
      page: await callAt(served.base, 'GET', codes[0] ?? '', { headers: { accept: 'text/html' } }),
      pages: await callAt(served.base, 'GET', codes[1] ?? ''),
      preview: await previewed(),
    };
  });
  after(async () => {
    await served.close();
    await model.stop();
  });

  it('is tested with a row in every table', () => {
    expect(
      beforeRemoval.empty,
      'tables without a row of the club: add a record here, or explain the table',
    ).to.deep.equal([]);
    const foundNeedles = new Set(beforeRemoval.tables.map((trace) => trace.split(': ')[1]));
    // The former address is stored encrypted, and is deleted after the mail to it was sent.
    expect(Object.keys(needles).filter((what) => !foundNeedles.has(what))).to.deep.equal(['former e-mail']);
    expect(beforeRemoval.tables).to.include.members([
      'mails.student_name: name',
      'mails.student_email: e-mail',
      'mails.address_key: key of the e-mail',
      outlivesRemoval,
    ]);
    expect(beforeRemoval.runs).to.be.above(20);
    expect(beforeRemoval.keys.map((key) => key.split('/')[0])).to.include.members(['media', 'certificates', 'exports']);
  });

  it('leaves no text of the student in any column', () => {
    expect(afterRemoval.tables).to.deep.equal([outlivesRemoval]);
  });

  it('leaves no stored answer about the student', () => {
    expect(afterRemoval.answersAboutStudents.before).to.be.above(10);
    expect(afterRemoval.answersAboutStudents.after).to.equal(0);
  });

  it('leaves no text of the student in the lists, descriptions and histories of Temporal', () => {
    expect(needlesIn(afterRemoval.temporal, { ...needles, password: known.password })).to.deep.equal([]);
  });

  it('leaves no text of the student in the logs of the API and the worker', () => {
    expect(served.log.join('')).to.contain('/v1/clubs/{clubId}/students/{studentId}');
    expect(known.worker.log()).to.contain('the worker');
    expect(needlesIn(served.log.join(''), { ...needles, password: known.password }), 'API').to.deep.equal([]);
    expect(needlesIn(known.worker.log(), { ...needles, password: known.password }), 'worker').to.deep.equal([]);
  });

  it('leaves no file of the student in any bucket, in any version, except the marker of the erasure', () => {
    expect(afterRemoval.keys.filter((key) => !key.startsWith('erasures/'))).to.deep.equal([]);
  });

  it('leaves no name in the preview of a mail to the student', () => {
    expect(afterRemoval.preview.status).to.equal(404);
    expect(needlesIn(afterRemoval.preview.text, needles)).to.deep.equal([]);
    expect(afterRemoval.preview.headers.get('cache-control')).to.equal('no-store');
  });

  it('leaves no name in the pages of the student’s certificates', () => {
    expect(afterRemoval.page.status).to.equal(200);
    expect(afterRemoval.page.text).to.contain('was withdrawn');
    expect(needlesIn(afterRemoval.page.text + afterRemoval.pages.text, needles)).to.deep.equal([]);
    expect(afterRemoval.page.headers.get('cache-control')).to.equal('no-store');
  });
});
