/** Tests the archives of exports of clubs: their records, their names, and their consistency with the contract (EXP-12 to EXP-14). */
import { expect } from 'chai';
import { contractDocument } from '../../../contract/document.ts';
import { recordTypes } from '../../../domain/exports/clubs/record-types.ts';
import { recordFaults } from '../../toolkit/assert/contract-schemas.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildFurnishedClub } from '../../toolkit/builders/furnished-club.ts';
import { buildMedia } from '../../toolkit/builders/media.ts';
import { exportClub, type ReadArchive } from '../../toolkit/drive/club-exports.ts';
import { everyOperation } from '../../toolkit/drive/every-operation.ts';

/** Records of lists of the club that no export contains. */
const explained: Readonly<Record<string, string>> = {
  AgentConversationReview: 'is a part of AgentConversationReviewMessages',
  AssignmentSubmission: 'is a part of AssignmentSubmissionDetail',
  AutomationSummary: 'is a part of Automation',
  AutomationVersionSummary: 'is a part of AutomationVersion',
  RepositorySummary: 'is a part of Repository',
  Course: 'is a part of CourseOutline',
  Agent: 'is a part of AgentSettings',
  BulkJobRow: 'is a report that is deleted after 90 days; its effects are exported',
  StudentImportRow: 'is a report that is deleted after 90 days; its effects are exported',
  MediaUse: 'follows from the records that name the file',
  ClubExport: 'is the export itself',
  StudentDataExport: 'is the export of a student, which is deleted after 90 days',
  WebhookEnvelope: 'is the log of the last 30 days, which GET …/events reads',
};

describe('the archive of a club with records of every kind', () => {
  let archive: ReadArchive;
  before(async function () {
    this.timeout(120_000); // the furnished club has records in 54 tables
    archive = await exportClub(await buildFurnishedClub());
  });

  it('has a file for each record type', () => {
    expect(archive.names).to.deep.equal(['manifest.json', ...recordTypes.map(({ name }) => `records/${name}.jsonl`)]);
  });

  it('has records of each type that the furnished club has', () => {
    const empty = Object.entries(archive.lines).filter(([, lines]) => lines.length === 0);
    expect(empty.map(([name]) => name)).to.deep.equal(['MailText', 'CampaignDelivery', 'TestMail', 'AgentUsage']);
  });

  it('has lines that follow the schemas of the contract, except for signed addresses', () => {
    const faults = Object.entries(archive.lines).flatMap(([name, lines]) =>
      lines.flatMap(({ record }) => recordFaults(name, record).map((fault) => `${name}: ${fault}`)),
    );
    expect([...new Set(faults)]).to.deep.equal(["Media: /tracks/0 must have required property 'url'"]);
  });

  it('has no signed address', () => {
    expect(JSON.stringify(archive.lines)).not.to.match(/signature=|X-Amz-Signature|u0000signed/i);
  });

  it('names the parent of each record that does not name it itself', () => {
    expect(archive.lines['PointAward']?.every(({ of }) => of?.['studentId'] !== undefined)).to.equal(true);
    expect(archive.lines['LessonComment']?.every(({ of }) => of?.['lessonId'] !== undefined)).to.equal(true);
  });
});

describe('the archive of a club', () => {
  it('has files without lines if the club is empty', async () => {
    const { lines } = await exportClub(await buildClub());
    expect(lines['Student']).to.deep.equal([]);
    expect(lines['Club']).to.have.lengthOf(1);
  });

  it('keeps names in every script', async () => {
    const club = await buildClub();
    const names = ['علي حسن', '山田 太郎', 'Zoë 🚣'];
    for (const name of names) await buildStudent(club.id, { name });
    const { lines } = await exportClub(club);
    expect(lines['Student']?.map(({ record }) => record['name'])).to.have.members(names);
  });

  it('gives each file a safe path that has its id', async () => {
    const club = await buildClub();
    const { id } = await buildMedia(club.id, { bytes: 'x', title: '../../etc/..\\passwd' });
    const { lines } = await exportClub(club);
    const paths = lines['ClubExportFile']?.map(({ record }) => String(record['name'])) ?? [];
    expect(paths).to.have.lengthOf(1);
    expect(paths[0])
      .to.match(new RegExp(`^files/${id}/[^/\\\\]+$`))
      .and.not.to.match(/\/\.\.?$/);
  });
});

it('exports each record that a list of the club returns, or explains why not', () => {
  const lists = everyOperation.filter(
    ({ method, path }) => method === 'get' && path.startsWith('/v1/clubs/{clubId}/') && !path.includes('/classroom'),
  );
  const listed = lists.flatMap(({ method, path }) => {
    const schema = JSON.stringify(contractDocument.paths[path]?.[method]?.responses ?? {});
    return [...schema.matchAll(/"type":"array","items":\{"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name = '']) => name,
    );
  });
  const names: readonly string[] = recordTypes.map(({ name }) => name);
  expect(listed).to.include('Student');
  expect(new Set(listed.filter((name) => !names.includes(name) && !(name in explained)))).to.deep.equal(new Set());
});
