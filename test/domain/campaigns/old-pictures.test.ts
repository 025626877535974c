/** Tests the erasure of mail pictures that earlier releases stored without the id of the club (ERS-27). */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { eraseOldMailPictures } from '../../../domain/campaigns/old-pictures.ts';
import { pictureNameOf } from '../../../domain/campaigns/drafts/images.ts';
import { Campaign } from '../../../entities/campaigns/campaign.ts';
import { Erasure } from '../../../entities/erasures/erasure.ts';
import { readConfig } from '../../../config.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { buildAutomation, email } from '../../toolkit/builders/automations.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../../toolkit/stack/storage.ts';

const formerKey = new Secret(randomBytes(32));
const newKey = new Secret(randomBytes(32));
/** The vault of the release that stored the copies, and of the release that erases them. */
const [former, vault] = [createVault(formerKey), createVault(newKey, { former: [formerKey] })];

describe('older copies of mail pictures', () => {
  const now = new Date();
  let clubId: Id;
  let publicBucket: string;
  beforeEach(async () => {
    clubId = (await buildClub()).id;
    publicBucket = readConfig().storage.publicBucket;
    await plan(clubId);
  });

  const plan = async (subjectId: Id) =>
    (await testDeps()).db.manager.insert(Erasure, {
      id: newId(),
      kind: 'club',
      subjectId,
      clubId: subjectId,
      requestedBy: null,
      requestedAt: now,
      erasesAt: now,
      status: 'closing',
      looksAt: now,
    });
  const buildCampaigns = async (of: Id, mediaIds: readonly Id[], compiled: object | null = null): Promise<Id> => {
    const id = newId();
    const blocks = mediaIds.map((mediaId) => ({ kind: 'image', media_id: mediaId, alt: 'A knot' }));
    const row = { id, clubId: of, name: 'Knots', audience: {}, createdAt: now, updatedAt: now };
    const { manager } = (await testDeps()).db;
    await manager.insert(Campaign, { ...row, content: { subject: 'Knots', blocks }, compiled });
    return id;
  };
  const store = async (name: string, ending = 'png'): Promise<string> => {
    const key = `mail/${name}.${ending}`;
    await (await testBucket()).store(key, Buffer.from('the same bytes'), publicBucket);
    return key;
  };
  const exists = async (key: string) => (await (await testBucket()).objects(key, publicBucket)).length > 0;
  const erase = async (replaced: Partial<ObjectStore> = {}, using = vault) => {
    const { db } = await testDeps();
    const storage = { ...(await testObjectStore()), ...replaced };
    return eraseOldMailPictures({ db, vault: using, storage }, clubId, now);
  };

  it('of campaigns are erased under each master key, with every ending', async () => {
    const mediaIds = [newId(), newId().toUpperCase()];
    const campaignId = await buildCampaigns(clubId, mediaIds);
    const [one = '', other = ''] = mediaIds;
    const keys = [
      await store(pictureNameOf(former, campaignId, one), 'jpg'),
      await store(pictureNameOf(vault, campaignId, one), 'gif'),
      await store(pictureNameOf(former, campaignId, other)),
    ];
    expect(await erase({}, createVault(newKey))).to.deep.equal({ more: false });
    expect(await Promise.all(keys.map(exists)), 'without the former key').to.deep.equal([true, false, true]);
    await (await testDeps()).db.run(sql`UPDATE erasures SET pictures_after = NULL WHERE subject_id = ${clubId}`);
    expect(await erase()).to.deep.equal({ more: false });
    expect(await Promise.all(keys.map(exists))).to.deep.equal([false, false, false]);
  });

  it('of versions of automations are erased', async () => {
    const automationId = await buildAutomation(clubId, { steps: [{ id: 'mail', kind: 'send_email', email }] }, now);
    const { db } = await testDeps();
    const [versionId, mediaId, branchId] = [newId(), newId(), newId()];
    const step = (media: Id) => ({ id: newId(), kind: 'send_email', email: { blocks: [{ media_id: media }] } });
    const definition = { steps: [step(mediaId), { kind: 'branch', yes: [step(branchId)] }] };
    await db.run(sql`
      INSERT INTO automation_versions (id, club_id, automation_id, number, trigger_kind, definition, compiled, published_at)
      VALUES (${versionId}, ${clubId}, ${automationId}, 9, 'manual', ${JSON.stringify(definition)}, '{}', ${now})`);
    const keys = [
      await store(pictureNameOf(former, versionId, mediaId)),
      await store(pictureNameOf(former, versionId, branchId)),
    ];
    await erase();
    expect(await Promise.all(keys.map(exists))).to.deep.equal([false, false]);
  });

  it('are found by the address in a compiled e-mail if their key is lost', async () => {
    const name = randomBytes(32).toString('hex');
    await buildCampaigns(clubId, [], { html: '', images: [`https://files.example.com/mail/${name}.jpg`], links: [] });
    const key = await store(name, 'jpg');
    await erase();
    expect(await exists(key)).to.equal(false);
  });

  it('of another club stay, although it sent the same bytes', async () => {
    const other = (await buildClub()).id;
    const mediaId = newId();
    const [ours, theirs] = [await buildCampaigns(clubId, [mediaId]), await buildCampaigns(other, [mediaId])];
    const [own, foreign] = [
      await store(pictureNameOf(vault, ours, mediaId)),
      await store(pictureNameOf(vault, theirs, mediaId)),
    ];
    const under = `mail/${other}/${pictureNameOf(vault, theirs, mediaId)}.png`;
    await (await testBucket()).store(under, Buffer.from('the same bytes'), publicBucket);
    await erase();
    expect([await exists(own), await exists(foreign), await exists(under)]).to.deep.equal([false, true, true]);
  });

  it('are erased in rounds, which continue after an interruption', async () => {
    const mediaId = newId();
    const campaignIds: Id[] = [];
    for (let count = 0; count < 101; count++) campaignIds.push(await buildCampaigns(clubId, [mediaId]));
    const [first = '', last = ''] = [campaignIds[0], campaignIds.at(-1)];
    const keys = [await store(pictureNameOf(vault, first, mediaId)), await store(pictureNameOf(vault, last, mediaId))];
    const away = { remove: () => Promise.reject(new Error('The store is away')) };
    expect(await erase(away).catch((error: Error) => error.message)).to.equal('The store is away');
    expect(await Promise.all(keys.map(exists))).to.deep.equal([true, true]);
    expect(await erase()).to.deep.equal({ more: true });
    expect(await Promise.all(keys.map(exists))).to.deep.equal([false, true]);
    expect(await erase()).to.deep.equal({ more: false });
    expect(await Promise.all(keys.map(exists))).to.deep.equal([false, false]);
    expect(await erase()).to.deep.equal({ more: false });
  });
});
