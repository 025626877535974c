/** Tests that the final check of the media proof finds each kind of error: lost files, files counted twice, and objects without a file. */
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
import type { ExpectedFile } from './errands.ts';
import { tallyFiles, verdictOf } from './tally.ts';

const digestOf = (bytes: string) => createHash('sha256').update(bytes).digest('hex');

describe('the final check of the media proof', function () {
  this.timeout(20_000);
  let settings: ObjectStoreSettings;
  let client: S3Client;
  let store: ObjectStore;
  let clubId: Id;
  let expectedFiles: ExpectedFile[];

  /** This test file needs new buckets, because the final check lists all objects in them. */
  before(async () => {
    await testDatabase();
    const bucket = `tally-${newId().replaceAll('_', '-').toLowerCase()}`;
    settings = { ...readConfig().storage, privateBucket: bucket, publicBucket: `${bucket}-public` };
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
  const storeText = (key: string, bytes: string) => store.put(key, 'text/plain', Readable.from([Buffer.from(bytes)]));
  const query = async (text: string, values: unknown[]) => (await testDatabase()).query<unknown>(text, values);

  async function buildFile(bytes: string): Promise<ExpectedFile> {
    const { id } = await buildMedia(clubId, { bytes: null, sizeBytes: bytes.length, mime: 'text/plain' });
    await storeText(keyOf({ id }), bytes);
    await query(`UPDATE media SET sha256 = decode($2, 'hex'), crc32 = 0 WHERE id = $1`, [id, digestOf(bytes)]);
    const digest = digestOf(bytes);
    return { id, clubId, becomes: 'ready', visibility: 'private', isArchived: false, digest, renditions: 0 };
  }

  async function findings() {
    const tally = await tallyFiles(await testDatabase(), settings, expectedFiles);
    const { lines, isFine } = verdictOf({ finished: expectedFiles.length, expected: 2 }, tally);
    return { lines, isFine };
  }

  beforeEach(async () => {
    clubId = (await buildClub()).id;
    expectedFiles = [await buildFile('Bowline'), await buildFile('Clove hitch')];
  });
  afterEach(async () => {
    await query(`DELETE FROM media WHERE club_id = $1`, [clubId]);
    await store.removeUnder('media/');
  });

  const fine = 'files 2, lost 0, counted twice 0, objects without a row 0';

  it('accepts files that are all as expected', async () => {
    expect(await findings()).to.deep.equal({ isFine: true, lines: ['became ready 2', fine] });
  });

  it('fails if a client did not finish the upload of a file', async () => {
    const tally = await tallyFiles(await testDatabase(), settings, expectedFiles);
    expect(verdictOf({ finished: 1, expected: 2 }, tally)).to.deep.include({ isFine: false });
  });

  const losses: readonly [
    harm: string,
    harmed: (file: ExpectedFile) => Promise<unknown>,
    says: (file: ExpectedFile) => string,
  ][] = [
    ['its object is missing', (file) => store.remove(keyOf(file)), (file) => `not there: ${keyOf(file)}`],
    [
      'it has other bytes',
      async (file) => {
        await store.remove(keyOf(file));
        await storeText(keyOf(file), 'Granny!');
      },
      () => 'the bucket has other bytes',
    ],
    [
      'its row has another checksum',
      ({ id }) => query(`UPDATE media SET sha256 = decode($2, 'hex') WHERE id = $1`, [id, digestOf('Granny')]),
      () => 'its row has another checksum',
    ],
    [
      'it is archived without a request',
      ({ id }) => query(`UPDATE media SET archived = true WHERE id = $1`, [id]),
      () => 'it is archived',
    ],
  ];
  for (const [harm, harmed, says] of losses)
    it(`counts a file as lost when ${harm}`, async () => {
      const [file] = expectedFiles as [ExpectedFile];
      await harmed(file);
      const { isFine, lines } = await findings();
      expect(isFine).to.equal(false);
      expect(lines).to.include(`lost: ${file.id}: ${says(file)}`);
      expect(lines.at(-1)).to.match(/^files 2, lost 1, /);
    });

  it('reports a lost file and an object without a row if the row of a file is missing', async () => {
    const [file] = expectedFiles as [ExpectedFile];
    await query(`DELETE FROM media WHERE id = $1`, [file.id]);
    const { isFine, lines } = await findings();
    expect(isFine).to.equal(false);
    expect(lines).to.include.members([`lost: ${file.id}: it has no row`, `without a row: ${keyOf(file)}`]);
    expect(lines.at(-1)).to.match(/^files 2, lost 1, .* objects without a row 1$/);
  });

  it('names the club that counts a file twice', async () => {
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

  it('names the club that still reserves storage for a file that never arrives', async () => {
    await query(`INSERT INTO club_storage (club_id, kind, held) VALUES ($1, 'document', 5)`, [clubId]);
    const { isFine, lines } = await findings();
    expect(isFine).to.equal(false);
    expect(lines).to.include(
      `counted: club ${clubId}: document 2 of 18 bytes, held 5; there are document 2 of 18 bytes, held 0`,
    );
  });

  it('reports an object of a deleted file if the object still exists minutes after the upload URL expired', async () => {
    const [file] = expectedFiles as [ExpectedFile];
    expectedFiles[0] = { ...file, becomes: 'removed' };
    await query(
      `UPDATE media SET removed_at = now(), erased_at = now(), erases_at = now() + interval '1 hour', upload_expires_at = now() WHERE id = $1`,
      [file.id],
    );
    const { isFine, lines } = await findings();
    expect(isFine).to.equal(false);
    expect(lines).to.include(`left minutes after its address has ended: ${keyOf(file)}`);
    expect(lines.at(-1)).to.equal('files 2, lost 0, counted twice 0, objects without a row 1');
  });

  it('reports objects and open uploads that belong to no file', async () => {
    const key = `media/${clubId}/nobody`;
    await storeText(key, 'Reef');
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
