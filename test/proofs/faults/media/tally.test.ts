/** That the tally of the fault run of media sees each kind of harm: what is lost, what is counted twice, and what nobody owns. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { CreateBucketCommand, CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { readConfig } from '../../../../config.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import {
  clientConfig,
  createObjectStore,
  type ObjectStore,
  type ObjectStoreSettings,
} from '../../../../platform/infra/store/object-store.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../../toolkit/builders/media.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import type { Told } from './errands.ts';
import { tallyFiles, verdictOf } from './tally.ts';

const digestOf = (bytes: string) => createHash('sha256').update(bytes).digest('hex');

describe('the tally of the fault run of media', function () {
  this.timeout(20_000);
  let settings: ObjectStoreSettings;
  let client: S3Client;
  let store: ObjectStore;
  let clubId: Id;
  let told: Told[];

  /** Buckets of this file's own: the tally looks at all that they hold. */
  before(async () => {
    await testDatabase();
    const own = `tally-${newId().replaceAll('_', '-').toLowerCase()}`;
    settings = { ...readConfig().storage, privateBucket: own, publicBucket: `${own}-public` };
    client = new S3Client(clientConfig(settings));
    for (const Bucket of [settings.privateBucket, settings.publicBucket])
      await client.send(new CreateBucketCommand({ Bucket }));
    store = createObjectStore(settings);
  });
  after(() => {
    store.close();
    client.destroy();
  });

  const keyOf = ({ id }: { id: Id }) => `media/${clubId}/${id}`;
  const put = (key: string, bytes: string) => store.put(key, 'text/plain', Readable.from([Buffer.from(bytes)]));
  const query = async (text: string, given: unknown[]) => (await testDatabase()).query<unknown>(text, given);

  async function buildFile(bytes: string): Promise<Told> {
    const { id } = await buildMedia(clubId, { bytes: null, sizeBytes: bytes.length, mime: 'text/plain' });
    await put(keyOf({ id }), bytes);
    await query(`UPDATE media SET sha256 = decode($2, 'hex'), crc32 = 0 WHERE id = $1`, [id, digestOf(bytes)]);
    const digest = digestOf(bytes);
    return { id, clubId, becomes: 'ready', visibility: 'private', isArchived: false, digest, renditions: 0 };
  }

  async function findings() {
    const tally = await tallyFiles(await testDatabase(), settings, told);
    const { lines, isFine } = verdictOf({ told: told.length, expected: 2 }, tally);
    return { lines, isFine };
  }

  beforeEach(async () => {
    clubId = (await buildClub()).id;
    told = [await buildFile('Bowline'), await buildFile('Clove hitch')];
  });
  afterEach(async () => {
    await query(`DELETE FROM media WHERE club_id = $1`, [clubId]);
    await store.removeUnder('media/');
  });

  const fine = 'files 2, lost 0, counted twice 0, objects without a row 0';

  it('finds nothing where all is as told', async () => {
    expect(await findings()).to.deep.equal({ isFine: true, lines: ['became ready 2', fine] });
  });

  it('fails where a file was never told of', async () => {
    const tally = await tallyFiles(await testDatabase(), settings, told);
    expect(verdictOf({ told: 1, expected: 2 }, tally)).to.deep.include({ isFine: false });
  });

  /** What is done to the first file, and what is said of it. */
  const losses: readonly [harm: string, harmed: (file: Told) => Promise<unknown>, says: (file: Told) => string][] = [
    ['its object is gone', (file) => store.remove(keyOf(file)), (file) => `not there: ${keyOf(file)}`],
    [
      'it has other bytes',
      async (file) => {
        await store.remove(keyOf(file));
        await put(keyOf(file), 'Granny!');
      },
      () => 'the bucket has other bytes',
    ],
    [
      'its row has another checksum',
      ({ id }) => query(`UPDATE media SET sha256 = decode($2, 'hex') WHERE id = $1`, [id, digestOf('Granny')]),
      () => 'its row has another checksum',
    ],
    [
      'it is archived, which nobody asked for',
      ({ id }) => query(`UPDATE media SET archived = true WHERE id = $1`, [id]),
      () => 'it is archived',
    ],
  ];
  for (const [harm, harmed, says] of losses)
    it(`counts a file as lost when ${harm}`, async () => {
      const [file] = told as [Told];
      await harmed(file);
      const { isFine, lines } = await findings();
      expect(isFine).to.equal(false);
      expect(lines).to.include(`lost: ${file.id}: ${says(file)}`);
      expect(lines.at(-1)).to.match(/^files 2, lost 1, /);
    });

  it('counts a file as lost when it has no row, and its object as one without a row', async () => {
    const [file] = told as [Told];
    await query(`DELETE FROM media WHERE id = $1`, [file.id]);
    const { isFine, lines } = await findings();
    expect(isFine).to.equal(false);
    expect(lines).to.include.members([`lost: ${file.id}: it has no row`, `without a row: ${keyOf(file)}`]);
    expect(lines.at(-1)).to.match(/^files 2, lost 1, .* objects without a row 1$/);
  });

  it('says which club has a file that is counted twice', async () => {
    await query(`INSERT INTO club_storage (club_id, kind, bytes, files) VALUES ($1, 'document', 7, 1)`, [clubId]);
    expect(await findings()).to.deep.equal({
      isFine: false,
      lines: [
        'became ready 2',
        `counted: club ${clubId}: document 3 of 25 bytes, held 0; there are document 2 of 18 bytes, held 0`,
        'files 2, lost 0, counted twice 1, objects without a row 0',
      ],
    });
  });

  it('says which club still holds room for what does not come', async () => {
    await query(`INSERT INTO club_storage (club_id, kind, held) VALUES ($1, 'document', 5)`, [clubId]);
    const { isFine, lines } = await findings();
    expect(isFine).to.equal(false);
    expect(lines).to.include(
      `counted: club ${clubId}: document 2 of 18 bytes, held 5; there are document 2 of 18 bytes, held 0`,
    );
  });

  it('says what was written after its file was gone, and stays minutes after the end of its address', async () => {
    const [file] = told as [Told];
    told[0] = { ...file, becomes: 'removed' };
    await query(
      `UPDATE media SET removed_at = now(), erased_at = now(), erases_at = now() + interval '1 hour', upload_expires_at = now() WHERE id = $1`,
      [file.id],
    );
    const { isFine, lines } = await findings();
    expect(isFine).to.equal(false);
    expect(lines).to.include(`left minutes after its address has ended: ${keyOf(file)}`);
    expect(lines.at(-1)).to.equal('files 2, lost 0, counted twice 0, objects without a row 1');
  });

  it('says which objects and which open uploads no file has', async () => {
    const key = `media/${clubId}/nobody`;
    await put(key, 'Reef');
    const upload = { Bucket: settings.privateBucket, Key: `${key}.1-mp4-1` };
    await client.send(new CreateMultipartUploadCommand(upload));
    expect(await findings()).to.deep.equal({
      isFine: false,
      lines: [
        'became ready 2',
        `without a row: ${key}`,
        `without a row: an upload of ${key}.1-mp4-1`,
        'files 2, lost 0, counted twice 0, objects without a row 2',
      ],
    });
  });
});
